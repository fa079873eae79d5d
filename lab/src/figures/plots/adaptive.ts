import type { LineSeriesOption } from 'echarts'
import { AXIS, COLOURS, draw, heading, INK, words } from './style.js'

/** A changing service, second by second: one run, and the mean of all. */
export interface Timeline {
  readonly title: string
  readonly phaseSeconds: number
  /** By phase: the right limit, and the throughput per second of the best fixed one. */
  readonly knees: readonly number[]
  readonly best: readonly number[]
  readonly limit: { readonly one: readonly number[]; readonly mean: readonly number[] }
  readonly served: { readonly one: readonly number[]; readonly mean: readonly number[] }
}

const LEFTS = [72, 612] as const
const PANEL_WIDTH = 400
const ROWS = [
  { key: 'limit', name: 'slots', top: 148, height: 180, color: COLOURS.blue },
  { key: 'served', name: 'requests/s', top: 378, height: 150, color: COLOURS.green },
] as const

/** The limit and its throughput, over time. */
export function plotAdaptive(timelines: readonly Timeline[], runs: number): string {
  const panels = ROWS.flatMap((row) =>
    timelines.map((timeline, column) => ({ ...row, timeline, left: LEFTS[column]! })),
  )
  return draw(
    {
      title: [
        heading(
          'An adaptive limit finds the knee, and finds it again',
          `Simulated, with somebody always waiting, starting at 20. Thick: mean of ${runs} runs; thin: one of them. ` +
            'Dashed: the knee, from which on requests only\n' +
            'wait for each other (above), and what the best fixed limit serves (below).',
        ),
        ...timelines.map(({ title }, i) => words(title, LEFTS[i]!, 100, { size: 14, bold: true })),
        ...panels.map(({ key, left, top, color }) =>
          words(key === 'limit' ? 'limit' : 'served', left, top - 20, { color, bold: true }),
        ),
      ],
      grid: panels.map(({ left, top, height }) => ({ left, top, height, width: PANEL_WIDTH, containLabel: false })),
      xAxis: panels.map(({ key, timeline }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        max: timeline.limit.mean.length,
        interval: 10,
        splitLine: { show: false },
        axisLabel: { ...AXIS.axisLabel, show: key === 'served' },
        name: key === 'served' ? 'seconds' : '',
        nameGap: 28,
      })),
      yAxis: panels.map(({ left, name }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        name: left === LEFTS[0] ? name : '',
        nameGap: 42,
      })),
      series: panels.flatMap(({ key, timeline, color }, panel) => [
        line(timeline[key].one, panel, color, 1.2, 0.55),
        line(timeline[key].mean, panel, color, 3.5, 1),
        target(timeline, key, panel),
      ]),
    },
    580,
  )
}

function line(
  values: readonly number[],
  panel: number,
  color: string,
  width: number,
  opacity: number,
): LineSeriesOption {
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: values.map((value, second) => [second + 0.5, value]),
    showSymbol: false,
    lineStyle: { color, width, opacity },
  }
}

/** The right value, phase by phase. */
function target({ phaseSeconds, knees, best }: Timeline, key: 'limit' | 'served', panel: number): LineSeriesOption {
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: (key === 'limit' ? knees : best).flatMap((value, phase) => [
      [phase * phaseSeconds, value],
      [(phase + 1) * phaseSeconds, value],
    ]),
    showSymbol: false,
    lineStyle: { color: INK, width: 1.5, type: 'dashed' },
  }
}
