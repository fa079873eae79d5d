import type { Pair } from '../escrow/fleet.js'
import type { Fleet } from '../escrow/fleet-run.js'
import { AXIS, COLOURS, draw, heading, INK, words } from './style.js'

const LEFT = { left: 76, width: 380 }
const RIGHT = { left: 560, width: 300 }
const TOP = 136
const HEIGHT = 250
const LINES = [
  { index: 0, label: 'all ask', color: COLOURS.blue },
  { index: 1, label: 'half pause', color: COLOURS.green },
  { index: 4, label: 'half of the processes\ncrash in each window', color: COLOURS.orange },
] as const

/** Units of two processes with weights 4 : 1, by quantum; and units that a fleet admits, window by window. */
export function plotFleet(pairs: readonly Pair[], fleets: readonly Fleet[]): string {
  const bars = (['counter', 'ours'] as const).flatMap((pool) =>
    (['heavy', 'light'] as const).map((tenant) => ({
      type: 'bar' as const,
      stack: pool,
      xAxisIndex: 0,
      yAxisIndex: 0,
      barWidth: 46,
      itemStyle: { color: colourOf(pool, tenant) },
      label: {
        show: true,
        color: '#ffffff',
        fontSize: 12,
        formatter: ({ value }: { value?: unknown }) => Number(value).toFixed(0),
      },
      data: pairs.map((pair) => pair[pool].byTenant[tenant]!),
    })),
  )
  return draw(
    {
      title: [
        heading(
          'A fleet on one pool',
          'Left: two processes whose tenants weigh 4 and 1, on a plain counter (grey) and on our pool (colours). Right: ' +
            'four processes whose clocks are\nup to a second apart, window by window, as a part of the limit.',
        ),
        words('Units per window, by quantum', LEFT.left, TOP - 30, { size: 15, bold: true }),
        words('Admitted in each window', RIGHT.left, TOP - 30, { size: 15, bold: true }),
      ],
      grid: [LEFT, RIGHT].map((each) => ({ ...each, top: TOP, height: HEIGHT, containLabel: false })),
      xAxis: [
        {
          ...AXIS,
          gridIndex: 0,
          type: 'category',
          data: pairs.map(({ quantum }) => `quantum ${quantum}`),
          axisTick: { show: false },
        },
        {
          ...AXIS,
          gridIndex: 1,
          type: 'category',
          data: fleets[0]!.windows.map((_, i) => String(i + 1)),
          axisTick: { show: false },
          name: 'window',
          nameGap: 28,
        },
      ],
      yAxis: [
        { ...AXIS, gridIndex: 0, type: 'value', min: 0, max: 1_000, interval: 200 },
        { ...AXIS, gridIndex: 1, type: 'value', min: 95, max: 100, interval: 1, name: '% of the limit', nameGap: 40 },
      ],
      series: [
        ...bars,
        ...LINES.map(({ index, label, color }) => ({
          type: 'line' as const,
          xAxisIndex: 1,
          yAxisIndex: 1,
          data: fleets[index]!.windows.map((admitted) => (100 * admitted) / fleets[index]!.limit),
          symbolSize: 7,
          color,
          lineStyle: { color, width: 2.5 },
          endLabel: { show: true, formatter: label, color, fontSize: 13, fontWeight: 'bold' as const, distance: 8 },
          labelLayout: { moveOverlap: 'shiftY' as const },
        })),
        {
          type: 'scatter' as const,
          xAxisIndex: 0,
          yAxisIndex: 0,
          symbol: 'rect',
          symbolSize: [108, 2],
          itemStyle: { color: INK },
          z: 3,
          data: pairs.map(() => 800),
        },
      ],
    },
    460,
  )
}

function colourOf(pool: 'counter' | 'ours', tenant: 'heavy' | 'light'): string {
  if (pool === 'counter') return tenant === 'heavy' ? COLOURS.grey : '#b4b4b4'
  return tenant === 'heavy' ? COLOURS.orange : COLOURS.blue
}
