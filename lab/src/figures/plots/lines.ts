import { AXIS, COLOURS, draw, heading, words } from './style.js'

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
  readonly color: keyof typeof COLOURS
  readonly dashed?: boolean
  /** Constant until the next point. */
  readonly step?: boolean
}

export interface LinePanel {
  readonly title: string
  readonly x: { readonly name: string; readonly least: number; readonly most: number }
  readonly y: { readonly name: string; readonly most: number }
  readonly lines: readonly Line[]
}

const TOP = 140
const HEIGHT = 230
const LEFT = 76
const GAP = 84
const WIDTH = 980

/** Lines over a quantity, in panels side by side. The lines of the first panel are named below. */
export function plotLines(title: string, subtitle: string, panels: readonly LinePanel[]): string {
  const width = (WIDTH - GAP * (panels.length - 1)) / panels.length
  const leftOf = (panel: number): number => LEFT + panel * (width + GAP)
  return draw(
    {
      title: [
        heading(title, subtitle),
        ...panels.map((panel, i) => words(panel.title, leftOf(i), TOP - 34, { size: 15, bold: true })),
      ],
      legend: {
        bottom: 8,
        itemGap: 64,
        icon: 'roundRect',
        data: [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))],
      },
      grid: panels.map((_, i) => ({ left: leftOf(i), top: TOP, width, height: HEIGHT, containLabel: false })),
      xAxis: panels.map(({ x }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: x.least,
        max: x.most,
        name: x.name,
        nameGap: 28,
        splitLine: { show: false },
      })),
      yAxis: panels.map(({ y }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: y.most,
        name: y.name,
        nameGap: 44,
      })),
      series: panels.flatMap(({ lines }, panel) =>
        lines.map(({ name, points, color, dashed = false, step = false }) => ({
          type: 'line' as const,
          name,
          xAxisIndex: panel,
          yAxisIndex: panel,
          showSymbol: false,
          step: step && ('end' as const),
          itemStyle: { color: COLOURS[color] },
          lineStyle: { color: COLOURS[color], width: 2, type: dashed ? ('dashed' as const) : ('solid' as const) },
          data: points.map(([x, y]) => [x, y]),
        })),
      ),
    },
    TOP + HEIGHT + 84,
  )
}
