import type { Moment } from '../../fair/trace.js'
import { AXIS, COLOURS, draw, heading, words } from './style.js'

interface Line {
  readonly key: keyof Moment
  readonly label: string
  readonly color: string
  readonly dashed?: true
}

const PANELS: readonly { title: string; unit: string; height: number; lines: readonly Line[] }[] = [
  {
    title: 'Capacity',
    unit: 'requests/s',
    height: 120,
    lines: [
      { key: 'seen', label: 'measured', color: COLOURS.blue },
      { key: 'capacity', label: 'true', color: COLOURS.black, dashed: true },
    ],
  },
  {
    title: 'Thought to be spare',
    unit: 'requests',
    height: 90,
    lines: [{ key: 'spare', label: 'left', color: COLOURS.green }],
  },
  {
    title: "The rate of the clock: a flow's fair share",
    unit: 'requests/s',
    height: 90,
    lines: [{ key: 'fairRate', label: 'r', color: COLOURS.purple }],
  },
  {
    title: 'Refused, and failed though let in',
    unit: 'requests/s',
    height: 130,
    lines: [
      { key: 'refusedHeavy', label: 'heavy refused', color: COLOURS.orange },
      { key: 'refusedLight', label: 'light refused', color: COLOURS.sky },
      { key: 'failed', label: 'failed', color: COLOURS.black },
    ],
  },
]

const LEFT = 76
const WIDTH = 860
const TOP = 130
const BETWEEN = 52

/** State and refusals of the fair clock, through a surge and a loss of half of the capacity. */
export function plotFairTrace(moments: readonly Moment[]): string {
  const tops = PANELS.map((_, i) => TOP + PANELS.slice(0, i).reduce((sum, { height }) => sum + height + BETWEEN, 0))
  return draw(
    {
      title: [
        heading(
          'The fair clock at work',
          '60 light flows ask for 42 requests a second in all. From 10 s to 95 s five heavy ones ask for 150. ' +
            'From 40 s to 70 s half of the capacity is gone.',
        ),
        ...PANELS.map(({ title }, i) => words(title, LEFT, tops[i]! - 24, { bold: true })),
      ],
      grid: PANELS.map(({ height }, i) => ({ left: LEFT, top: tops[i]!, width: WIDTH, height, containLabel: false })),
      xAxis: PANELS.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: Math.ceil(moments.at(-1)!.at),
        splitLine: { show: false },
        // No label at the end: the labels of lines that end near 0 are there.
        axisLabel: { ...AXIS.axisLabel, show: gridIndex === PANELS.length - 1, showMaxLabel: false },
        name: gridIndex === PANELS.length - 1 ? 'seconds' : '',
        nameGap: 28,
      })),
      yAxis: PANELS.map(({ unit }, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        splitNumber: 3,
        name: unit,
        nameGap: 44,
      })),
      series: PANELS.flatMap(({ lines }, panel) =>
        lines.map(({ key, label, color, dashed }) => ({
          type: 'line' as const,
          xAxisIndex: panel,
          yAxisIndex: panel,
          data: moments.map((moment) => [moment.at, moment[key]]),
          showSymbol: false,
          color,
          lineStyle: { color, width: dashed ? 1.5 : 2, type: dashed ? ('dashed' as const) : ('solid' as const) },
          endLabel: { show: true, formatter: label, color, fontSize: 13, fontWeight: 'bold' as const, distance: 8 },
          labelLayout: { moveOverlap: 'shiftY' as const },
        })),
      ),
    },
    tops.at(-1)! + PANELS.at(-1)!.height + 60,
  )
}
