import type { LineSeriesOption } from 'echarts'
import type { Way } from '../escrow/rule.js'
import { AXIS, COLOURS, draw, FAINT, heading, words } from './style.js'

/** Part of the limit used over time, in hundredths of the window. */
export interface Course {
  readonly title: string
  readonly byWay: Readonly<Record<Way, { readonly course: readonly number[] }>>
}

interface Line {
  readonly way: Way
  readonly label: string
  readonly color: string
  readonly width: number
  readonly type?: 'dashed'
}

/** Both readings of the published rule do the same here. */
const LINES: readonly Line[] = [
  { way: 'excess', label: 'published', color: COLOURS.grey, width: 4 },
  { way: 'strict', label: 'strict', color: COLOURS.blue, width: 3, type: 'dashed' },
  { way: 'paced', label: 'paced (default)', color: COLOURS.orange, width: 4 },
]

const LEFTS = [72, 606] as const
const PANEL_WIDTH = 350
const TOP = 136
const HEIGHT = 280

/** Utilisation over the window, with tenants that fall silent; a panel for each scenario. */
export function plotCourses(courses: readonly Course[]): string {
  return draw(
    {
      title: [
        heading(
          'Unused guarantees are used if they are lent over time',
          'Part of the limit that is used in a window. Those who still ask want more than there is. Strict keeps for a ' +
            'silent tenant\nits whole guarantee until the window ends; paced, what an even pace would have left of it.',
        ),
        ...courses.map(({ title }, i) => words(title, LEFTS[i]!, TOP - 32, { size: 15, bold: true })),
      ],
      grid: courses.map((_, i) => ({
        left: LEFTS[i]!,
        top: TOP,
        width: PANEL_WIDTH,
        height: HEIGHT,
        containLabel: false,
      })),
      xAxis: courses.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: 100,
        interval: 25,
        name: 'part of the window that is over, %',
        nameGap: 30,
        splitLine: { show: false },
      })),
      yAxis: courses.map((_, gridIndex) => ({
        ...AXIS,
        gridIndex,
        type: 'value',
        min: 0,
        max: 100,
        interval: 20,
        name: gridIndex === 0 ? 'used, % of the limit' : '',
        nameGap: 42,
        axisLabel: { color: FAINT, fontSize: 12, show: true },
      })),
      series: courses.flatMap(({ byWay }, panel) => LINES.map((line) => series(line, byWay[line.way].course, panel))),
    },
    490,
  )
}

function series({ label, color, width, type }: Line, course: readonly number[], panel: number): LineSeriesOption {
  return {
    type: 'line',
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: course.map((used, hundredth) => [hundredth, 100 * used]),
    showSymbol: false,
    color,
    lineStyle: { color, width, ...(type !== undefined && { type }) },
    z: type === undefined ? width : 5,
    endLabel: { show: true, formatter: label, color, fontSize: 13, fontWeight: 'bold', distance: 8 },
    labelLayout: { moveOverlap: 'shiftY' },
  }
}
