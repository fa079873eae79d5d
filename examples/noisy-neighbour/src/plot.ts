import { type EChartsOption, init, type LineSeriesOption, type TitleComponentOption } from 'echarts'
import type { Manner } from './population.js'
import type { Report } from './report.js'
import type { MannerSummary } from './summary.js'
import { BIN_MS, type Tally } from './tally.js'

const WIDTH = 1_080
const HEIGHT = 580
// Without quotation marks: the library would write them unescaped into an attribute.
const FONT = 'Helvetica, Arial, DejaVu Sans, sans-serif'
const INK = '#222222'
const FAINT = '#6b6b6b'
/** From the palette of Okabe and Ito, which is distinguishable with any colour vision. */
const COLOUR: Readonly<Record<Manner, string>> = { quiet: '#0072b2', heavy: '#d55e00' }
/** Bins on either side in the mean of a point: two and a half seconds in all. */
const SMOOTHING = 2

/** One row of the picture per manner, because their rates are too far apart for one axis. */
const ROWS = [
  { manner: 'heavy', top: 164, height: 130 },
  { manner: 'quiet', top: 364, height: 165 },
] as const
const COLUMNS = [
  { phase: 'without', left: 66, title: 'Without Fairlead' },
  { phase: 'with', left: 594, title: 'With Fairlead' },
] as const
const PANEL_WIDTH = 400

/** Draws requests served over time, per client, before and after, as an SVG document. */
export function plot(report: Report, tallies: Readonly<Record<'without' | 'with', Tally>>): string {
  const panels = ROWS.flatMap((row) => COLUMNS.map((column) => ({ ...row, ...column })))
  const rates = panels.map(({ phase, manner }) => ratesOf(tallies[phase], manner, report.options.seconds))
  // Both panels of a row have the same axis, so that they can be compared.
  const axisOf = (manner: Manner): { interval: number; max: number } =>
    axisFor(
      panels.flatMap((panel, i) =>
        panel.manner === manner ? [...rates[i]!.flat(), report[panel.phase][manner].entitled] : [],
      ),
    )

  const option: EChartsOption = {
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: FONT, color: INK },
    title: [
      heading(report),
      ...COLUMNS.map(({ left, title }) => text(title, left, 102, 16, INK, 'bold')),
      ...panels.map(({ phase, manner, left, top }) => {
        const summary = report[phase][manner]
        const says = manner === 'heavy' ? heavyLine(summary) : quietLine(summary)
        return text(says, left, top - 34, 13, COLOUR[manner], 'bold')
      }),
    ],
    grid: panels.map(({ left, top, height }) => ({ left, top, height, width: PANEL_WIDTH, containLabel: false })),
    xAxis: panels.map(({ manner }, gridIndex) => ({
      gridIndex,
      type: 'value',
      max: report.options.seconds,
      name: manner === 'quiet' ? 'seconds' : '',
      nameLocation: 'middle',
      nameGap: 28,
      nameTextStyle: { color: FAINT, fontSize: 12 },
      axisLabel: { show: manner === 'quiet', color: FAINT },
      axisLine: { lineStyle: { color: '#b0b0b0' } },
      axisTick: { show: manner === 'quiet' },
      splitLine: { show: false },
    })),
    yAxis: panels.map(({ manner, phase }, gridIndex) => ({
      gridIndex,
      type: 'value',
      ...axisOf(manner),
      name: phase === 'without' ? 'requests/s' : '',
      nameLocation: 'middle',
      nameGap: 38,
      nameTextStyle: { color: FAINT, fontSize: 12 },
      axisLabel: { color: FAINT },
      splitLine: { lineStyle: { color: '#ececec' } },
    })),
    series: panels.flatMap(({ phase, manner }, panel) => [
      ...rates[panel]!.map((rate) => clientLine(rate, panel, manner)),
      averageLine(rates[panel]!, panel, manner, report[phase][manner]),
    ]),
  }
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT })
  chart.setOption(option)
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}

/** Requests served per second of each client of a manner, one value per bin, smoothed. */
function ratesOf(tally: Tally, manner: Manner, seconds: number): number[][] {
  const bins = Math.round((seconds * 1_000) / BIN_MS)
  return tally.clients.flatMap((client, i) => {
    if (client.manner !== manner) return []
    const served = Array.from({ length: bins }, (_, bin) => tally.byClient[i]!.servedInBin[bin] ?? 0)
    return [served.map((_, bin) => mean(served.slice(Math.max(0, bin - SMOOTHING), bin + SMOOTHING + 1)) / binSeconds)]
  })
}

const binSeconds = BIN_MS / 1_000

function points(rate: readonly number[]): [number, number][] {
  return rate.map((value, bin) => [(bin + 0.5) * binSeconds, value])
}

function clientLine(rate: readonly number[], panel: number, manner: Manner): LineSeriesOption {
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: points(rate),
    showSymbol: false,
    lineStyle: { color: COLOUR[manner], width: manner === 'heavy' ? 2 : 1, opacity: manner === 'heavy' ? 0.9 : 0.3 },
  }
}

/** The mean of the quiet clients, which are too many to follow individually, and their target: their demand. */
function averageLine(
  rates: readonly (readonly number[])[],
  panel: number,
  manner: Manner,
  { asked, entitled }: MannerSummary,
): LineSeriesOption {
  const average = rates[0]!.map((_, bin) => mean(rates.map((rate) => rate[bin]!)))
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: manner === 'quiet' ? points(average) : [],
    showSymbol: false,
    lineStyle: { color: COLOUR[manner], width: 3.5 },
    markLine: {
      silent: true,
      symbol: 'none',
      data: [{ yAxis: manner === 'quiet' ? asked : entitled }],
      lineStyle: { color: INK, type: 'dashed', width: 1.5 },
      label: {
        position: 'end',
        distance: 6,
        formatter: manner === 'quiet' ? `asked:\n${asked.toFixed(1)}/s` : `fair share:\n${entitled.toFixed(0)}/s`,
        align: 'left',
        color: INK,
        fontSize: 12,
      },
    },
  }
}

function heading({ capacity, options }: Report): TitleComponentOption {
  const thing = options.resource === 'pool' ? 'a database' : 'a server'
  return {
    left: 20,
    top: 14,
    text: 'Two noisy neighbours and eighteen quiet clients on one server',
    subtext:
      `Requests served over time, a line per client (thick: their mean). They share ${thing} that can do ` +
      `${capacity.toFixed(0)} requests/s\nand together ask ${options.load} times that. Dashed: what each should get.`,
    textStyle: { fontFamily: FONT, fontSize: 20, color: INK },
    subtextStyle: { fontFamily: FONT, fontSize: 13, color: FAINT, lineHeight: 18 },
  }
}

function heavyLine({ clients, served, entitled }: MannerSummary): string {
  return `${clients} heavy clients get ${percent(served / entitled)} of their fair share`
}

function quietLine({ clients, servedOfAsked }: MannerSummary): string {
  return `${clients} quiet clients get ${percent(servedOfAsked)} of what they ask`
}

function text(
  content: string,
  left: number,
  top: number,
  fontSize: number,
  color: string,
  fontWeight: 'bold' | 'normal',
): TitleComponentOption {
  return { text: content, left, top, padding: 0, textStyle: { fontFamily: FONT, fontSize, color, fontWeight } }
}

/** A vertical axis that includes all `values`, with at most five round steps. */
function axisFor(values: readonly number[]): { interval: number; max: number } {
  const most = Math.max(...values)
  const magnitude = 10 ** Math.floor(Math.log10(most / 5))
  const interval = magnitude * [1, 2, 2.5, 5, 10].find((step) => 5 * step * magnitude >= most)!
  return { interval, max: Math.ceil(most / interval) * interval }
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / values.length
}

function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(0)} %`
}
