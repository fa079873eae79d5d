import type { ScatterSeriesOption } from 'echarts'
import { AXIS, COLOURS, draw, FAINT, heading, INK, words } from './style.js'

const PANEL_WIDTH = 296
const LEFT = 72
const GAP = 36
const TOP = 128
const HEIGHT = 300
/** Least wait in the picture: a logarithmic axis has no zero. */
const LEAST_MS = 10

interface Way {
  readonly title: string
  readonly customers: readonly Customer[]
}

/** A customer, and its waits, in milliseconds. */
export interface Customer {
  readonly noisy: boolean
  readonly p50: number
  readonly p99: number
  /** Part of its requests that was served. */
  readonly served: number
  /** Mean wait in each period between two perturbations in which one of its requests started, seed after seed. */
  readonly periods: readonly number[]
}

/** Waits of each customer, a panel for each queueing discipline, a point for each of the first `periods` periods. */
export function plotCustomers(ways: readonly Way[], periods: number): string {
  const lefts = ways.map((_, i) => LEFT + i * (PANEL_WIDTH + GAP))
  return draw(
    {
      title: [
        heading(
          'One noisy customer and nine quiet ones',
          'Waits: a point is the mean of a customer in five seconds, after which the hash is perturbed; a bar, its ' +
            'median request. Together they ask for 5 % more\n' +
            'than there is: each of the nine for less than a tenth, ' +
            'the noisy one for three times as much as any of them.',
        ),
        ...ways.map(({ title }, i) => words(title, lefts[i]!, TOP - 32, { size: 16, bold: true })),
        ...lefts.flatMap((left) => [
          words('noisy', left + 3, TOP + HEIGHT + 10, { color: COLOURS.orange, bold: true }),
          words('nine quiet customers', left + 106, TOP + HEIGHT + 10, { color: COLOURS.blue, bold: true }),
        ]),
      ],
      grid: lefts.map((left) => ({ left, top: TOP, width: PANEL_WIDTH, height: HEIGHT, containLabel: false })),
      xAxis: ways.map(({ customers }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: -0.7,
        max: customers.length - 0.3,
        splitLine: { show: false },
        axisTick: { show: false },
        axisLabel: { show: false },
      })),
      yAxis: ways.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'log',
        min: LEAST_MS,
        max: 10_000,
        name: gridIndex === 0 ? 'wait' : '',
        nameGap: 50,
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: {
          color: FAINT,
          fontSize: 12,
          show: gridIndex === 0,
          formatter: (ms: number) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`),
        },
      })),
      series: ways.flatMap(({ customers }, panel) => customers.flatMap((each, i) => points(each, i, panel, periods))),
    },
    470,
  )
}

function points({ noisy, periods, p50 }: Customer, index: number, panel: number, most: number): ScatterSeriesOption[] {
  const color = noisy ? COLOURS.orange : COLOURS.blue
  const axes = { type: 'scatter', xAxisIndex: panel, yAxisIndex: panel, silent: true } as const
  return [
    {
      ...axes,
      symbolSize: 5,
      itemStyle: { color, opacity: 0.4 },
      // As one path: a path for each point would make the picture a megabyte.
      large: true,
      largeThreshold: 1,
      // Side by side, so that equal values stay visible.
      data: periods.slice(0, most).map((ms, i) => [index + 0.5 * (((i * 0.618) % 1) - 0.5), Math.max(LEAST_MS, ms)]),
    },
    {
      ...axes,
      symbol: 'rect',
      symbolSize: [22, 4],
      itemStyle: { color: noisy ? color : INK },
      data: [[index, Math.max(LEAST_MS, p50)]],
    },
  ]
}
