import { type EChartsOption, init, type TitleComponentOption } from 'echarts'

// Without quotation marks: the library would write them into an attribute as they are.
const FONT = 'Helvetica, Arial, DejaVu Sans, sans-serif'
export const INK = '#222222'
export const FAINT = '#6b6b6b'
const WIDTH = 1_080

type ColourName = 'blue' | 'orange' | 'green' | 'purple' | 'amber' | 'sky' | 'grey' | 'black'

/** From the palette of Okabe and Ito, which is distinguishable with any colour vision. */
export const COLOURS: Readonly<Record<ColourName, string>> = {
  blue: '#0072b2',
  orange: '#d55e00',
  green: '#009e73',
  purple: '#a8558a',
  amber: '#c98b00',
  sky: '#3a9bd0',
  grey: '#8a8a8a',
  black: '#000000',
}

/** Draws a chart as an SVG document. */
export function draw(option: EChartsOption, height: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height })
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: FONT, color: INK },
    ...option,
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return plain(svg)
}

/** Without elements for pointers: a picture in a page has none, and their names are numbered through the process. */
function plain(svg: string): string {
  return svg
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/ (?:class|ecmeta_\w+)="[^"]*"/g, '')
    .replace(/\bzr\d+-/g, '')
}

export function heading(title: string, subtitle: string): TitleComponentOption {
  return {
    left: 20,
    top: 14,
    text: title,
    subtext: subtitle,
    textStyle: { fontFamily: FONT, fontSize: 20, color: INK },
    subtextStyle: { fontFamily: FONT, fontSize: 13, color: FAINT, lineHeight: 18 },
  }
}

/** Words at a place of the picture. */
export function words(
  text: string,
  left: number,
  top: number,
  { color = INK, size = 13, bold = false }: { color?: string; size?: number; bold?: boolean } = {},
): TitleComponentOption {
  const fontWeight = bold ? 'bold' : 'normal'
  return { text, left, top, padding: 0, textStyle: { fontFamily: FONT, fontSize: size, color, fontWeight } }
}

/** Common properties of all axes. */
export const AXIS: Axis = {
  axisLabel: { color: FAINT, fontSize: 12 },
  axisLine: { lineStyle: { color: '#b0b0b0' } },
  splitLine: { lineStyle: { color: '#ececec' } },
  nameLocation: 'middle',
  nameTextStyle: { color: FAINT, fontSize: 13 },
}

interface Axis {
  axisLabel: { color: string; fontSize: number }
  axisLine: { lineStyle: { color: string } }
  splitLine: { lineStyle: { color: string } }
  nameLocation: 'middle'
  nameTextStyle: { color: string; fontSize: number }
}
