import type { BarSeriesOption } from 'echarts'
import { AXIS, COLOURS, draw, FAINT, heading, INK, words } from '../../figures/plots/style.js'
import type { Guard } from './framework.js'
import { GUARDS } from './guards.js'
import type { Run } from './run.js'

const LEFT = 236
const TOP = 152
const PANEL_WIDTH = 178
const GAP = 24
const HEIGHT = 330
/** Without protection a heavy client gets about 50 % more than its entitlement; longer bars are cut. */
const MOST = 2

const LABELS: Readonly<Record<Guard, string>> = {
  nothing: 'no protection',
  documented: "limiter, its documentation's limit",
  'fair level': 'limiter, told the fair level',
  'heavy due': 'limiter, told what the heavy are due',
  fairlead: 'Fairlead, no options',
  'fairlead queue': 'Fairlead, queue',
}

/** Served over entitled, a panel for each framework, a bar for the quiet and one for the heavy behind each guard. */
export function plotNoisy(runs: readonly Run[]): string {
  const frameworks = [...new Set(runs.map(({ framework }) => framework))]
  const panels = frameworks.map((framework) =>
    GUARDS.map((guard) => runs.find((run) => run.framework === framework && run.guard === guard)?.summary),
  )
  const left = (panel: number): number => LEFT + panel * (PANEL_WIDTH + GAP)
  return draw(
    {
      title: [
        heading(
          'Eighteen quiet clients and two noisy ones, on four frameworks',
          'What clients were served of what they were entitled to: 1 is fair. Bars: the mean of the quiet and of the ' +
            'heavy clients; the line: the worst of the quiet.',
        ),
        ...frameworks.map(({ title }, panel) => words(title, left(panel), TOP - 28, { size: 15, bold: true })),
        words('quiet', LEFT, TOP - 52, { color: COLOURS.blue, bold: true }),
        words('heavy', LEFT + 48, TOP - 52, { color: COLOURS.orange, bold: true }),
      ],
      grid: panels.map((_, panel) => ({ left: left(panel), top: TOP, width: PANEL_WIDTH, height: HEIGHT })),
      xAxis: panels.map((_, gridIndex) => ({ ...AXIS, gridIndex, type: 'value', min: 0, max: MOST, interval: 0.5 })),
      yAxis: panels.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'category',
        inverse: true,
        data: GUARDS.map((guard) => LABELS[guard]),
        axisTick: { show: false },
        axisLabel: { show: gridIndex === 0, color: INK, fontSize: 12 },
      })),
      series: panels.flatMap((summaries, panel) => {
        const axes = { xAxisIndex: panel, yAxisIndex: panel, silent: true }
        const bar = (color: string, values: readonly number[]): BarSeriesOption => ({
          ...axes,
          type: 'bar',
          barWidth: 16,
          barGap: '10%',
          itemStyle: { color },
          label: {
            show: true,
            position: 'right',
            fontSize: 11,
            color: FAINT,
            formatter: ({ dataIndex }) => values[dataIndex]!.toFixed(2),
          },
          data: values.map((value) => Math.min(MOST, value)),
        })
        return [
          bar(
            COLOURS.blue,
            summaries.map((summary) => summary?.quiet.servedOfEntitled ?? 0),
          ),
          bar(
            COLOURS.orange,
            summaries.map((summary) => summary?.heavy.servedOfEntitled ?? 0),
          ),
          {
            ...axes,
            type: 'scatter' as const,
            symbol: 'rect',
            symbolSize: [3, 16],
            symbolOffset: [0, '-55%'],
            itemStyle: { color: INK },
            z: 3,
            data: summaries.map((summary, i) => [summary?.quiet.worstOfEntitled ?? 0, i]),
          },
        ]
      }),
    },
    TOP + HEIGHT + 44,
  )
}
