import type { LineSeriesOption } from 'echarts'
import type { Measured } from '../measure.js'
import type { VariantName } from '../variants.js'
import { AXIS, COLOURS, draw, FAINT, heading } from './style.js'

interface Line {
  readonly name: VariantName
  readonly label: string
  readonly color: string
  readonly width?: number
  readonly type?: 'dashed' | 'solid'
}

/** From the top of the picture to its foot. */
const LINES: readonly Line[] = [
  { name: 'arrivalOrder', label: 'one line for all', color: COLOURS.grey },
  { name: 'evicting4', label: 'shortest of 4 queues', color: COLOURS.purple },
  { name: 'evicting2', label: 'shortest of 2 queues', color: COLOURS.amber },
  { name: 'evicting1', label: 'single hash', color: COLOURS.sky },
  { name: 'hashed', label: '64 hashed queues', color: COLOURS.blue },
  { name: 'textbook', label: 'exact round robin', color: COLOURS.black, type: 'dashed' },
  { name: 'sparseFirst', label: 'default: per flow,\nsparse flows first', color: COLOURS.orange, width: 4 },
]

/** A scenario, and the result of each variant. */
export interface IsolationRow {
  readonly title: string
  readonly heavy: number
  readonly measured: Readonly<Record<VariantName, Omit<Measured, 'served'>>>
}

/** p99 waits of light flows against the number of heavy flows, a line for each queueing discipline. */
export function plotIsolation(rows: readonly IsolationRow[]): string {
  return draw(
    {
      title: heading(
        'How long light flows wait beside heavy ones',
        '99th percentile of the waits of 200 light flows that together ask for 40 % of the capacity. ' +
          'Each heavy flow asks for 200 %.\nSimulated: 10 servers of 10 ms, 64 hashed queues.',
      ),
      grid: { left: 76, right: 196, top: 92, bottom: 58 },
      xAxis: {
        ...AXIS,
        type: 'category',
        boundaryGap: false,
        data: rows.map(({ heavy }) => String(heavy)),
        name: 'heavy flows',
        nameGap: 32,
        axisTick: { show: false },
      },
      yAxis: {
        ...AXIS,
        type: 'log',
        min: 1,
        max: 10_000,
        name: 'p99 wait',
        nameGap: 52,
        axisLabel: {
          color: FAINT,
          fontSize: 12,
          formatter: (ms: number) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`),
        },
      },
      series: LINES.map((line) => series(line, rows)),
    },
    540,
  )
}

function series(
  { name, label, color, width = 2, type = 'solid' }: Line,
  rows: readonly IsolationRow[],
): LineSeriesOption {
  return {
    type: 'line',
    data: rows.map(({ measured }) => measured[name].p99),
    symbol: 'circle',
    symbolSize: width > 2 ? 9 : 6,
    color,
    lineStyle: { color, width, type },
    z: width,
    endLabel: { show: true, formatter: label, color, fontSize: 13, lineHeight: 16, distance: 10, fontWeight: 'bold' },
    labelLayout: { moveOverlap: 'shiftY' },
  }
}
