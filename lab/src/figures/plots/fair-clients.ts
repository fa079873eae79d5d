import type { RuleName } from '../../fair/study.js'
import { AXIS, COLOURS, draw, heading, INK } from './style.js'

const LINES: readonly { rule: RuleName; label: string; color: string }[] = [
  { rule: 'none', label: 'no control', color: COLOURS.grey },
  { rule: 'published', label: 'published rule', color: COLOURS.amber },
  { rule: 'clock', label: 'fair clock', color: COLOURS.blue },
]

/** Served / entitled of each client, sorted. */
export function plotFairClients(clients: Readonly<Record<RuleName, readonly number[]>>): string {
  return draw(
    {
      title: heading(
        'Served / entitled of each of 200 clients',
        '180 clients ask 0.5 times a second, 20 ask 10 times; there is enough for 100 requests a second. ' +
          'One run of 300 s. Black: fair.',
      ),
      grid: { left: 76, right: 160, top: 92, bottom: 58 },
      xAxis: {
        ...AXIS,
        type: 'value',
        min: 0,
        max: clients.clock.length,
        name: 'clients, least served first',
        nameGap: 32,
        splitLine: { show: false },
      },
      yAxis: { ...AXIS, type: 'log', min: 0.1, max: 10, name: 'served / entitled', nameGap: 48 },
      series: [
        {
          type: 'line',
          data: [
            [0, 1],
            [clients.clock.length, 1],
          ],
          showSymbol: false,
          lineStyle: { color: INK, width: 1.5, type: 'dashed' },
        },
        ...LINES.map(({ rule, label, color }) => ({
          type: 'line' as const,
          step: 'end' as const,
          data: clients[rule].map((ratio, i) => [i, Math.max(0.1, ratio)]),
          showSymbol: false,
          color,
          lineStyle: { color, width: rule === 'clock' ? 4 : 2.5 },
          endLabel: { show: true, formatter: label, color, fontSize: 13, fontWeight: 'bold' as const, distance: 10 },
          labelLayout: { moveOverlap: 'shiftY' as const },
        })),
      ],
    },
    460,
  )
}
