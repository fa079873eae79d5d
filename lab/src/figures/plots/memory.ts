import type { LineSeriesOption } from 'echarts'
import type { MemoryCourse } from '../shed/course.js'
import { AXIS, COLOURS, draw, FAINT, heading, INK, words } from './style.js'

/** One run of a policy. */
export interface MemoryPanel {
  readonly title: string
  readonly course: MemoryCourse
}

const LEFT = 72
const WIDTH = 980
const TOP = 128
const HEIGHT = 140
const STEP = 196
const RANGE = [0.75, 0.95] as const
/** The interval of four times the demand. */
const SPIKE_SECONDS = [30, 60] as const

/** Memory over time, a panel for each policy. */
export function plotMemory(panels: readonly MemoryPanel[], sampleEveryMs: number): string {
  return draw(
    {
      title: [
        heading(
          'Memory in a spike of demand',
          `Simulated: 200 requests/s, 800 from 30 s to 60 s; one run, memory sampled every ${sampleEveryMs} ms. At 1 the ` +
            'process runs out, loses all that\nruns, and is gone for 5 s. Dashed: where requests begin to be refused, and ' +
            'where all are.',
        ),
        ...panels.map(({ title, course }, i) =>
          words(`${title}: ${course.outOfMemory} times out of memory`, LEFT, TOP - 22 + i * STEP, {
            size: 15,
            bold: true,
          }),
        ),
      ],
      grid: panels.map((_, i) => ({
        left: LEFT,
        top: TOP + i * STEP,
        width: WIDTH,
        height: HEIGHT,
        containLabel: false,
      })),
      xAxis: panels.map(({ course }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: (course.most.length * course.everyMs) / 1_000,
        interval: 10,
        splitLine: { show: false },
        axisLabel: { ...AXIS.axisLabel, show: gridIndex === panels.length - 1 },
        name: gridIndex === panels.length - 1 ? 'seconds' : '',
        nameGap: 28,
      })),
      yAxis: panels.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: 1.1,
        interval: 0.5,
        name: 'of the limit',
        nameGap: 42,
        axisLabel: { color: FAINT, fontSize: 12, formatter: (share: number) => (share > 1 ? '' : String(share)) },
      })),
      series: panels.map(({ course }, panel) => line(course, panel)),
    },
    TOP + STEP * panels.length + 10,
  )
}

function line({ most, everyMs }: MemoryCourse, panel: number): LineSeriesOption {
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    // The library draws no line to or from a value that is not a number.
    data: most.map((held, i) => [((i + 0.5) * everyMs) / 1_000, held ?? '-']),
    showSymbol: false,
    lineStyle: { color: COLOURS.blue, width: 1.8 },
    markArea: {
      silent: true,
      itemStyle: { color: '#f3f3f3' },
      data: [[{ xAxis: SPIKE_SECONDS[0] }, { xAxis: SPIKE_SECONDS[1] }]],
    },
    markLine: {
      silent: true,
      symbol: 'none',
      label: { show: false },
      data: [
        ...RANGE.map((at) => ({ yAxis: at, lineStyle: { color: FAINT, width: 1, type: 'dashed' as const } })),
        { yAxis: 1, lineStyle: { color: COLOURS.orange, width: 1.5, type: 'solid' as const } },
      ],
    },
    itemStyle: { color: INK },
  }
}
