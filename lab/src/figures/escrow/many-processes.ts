import type { Aim } from '../aims.js'
import type { Effort, Table, Tell } from '../figure.js'
import { type Fleet, fleetOf, greedy, halfPause } from './fleet-run.js'
import { percents } from './utilisation.js'

/** Number of processes, and the quantum. */
const FLEETS = [
  [20, 25],
  [20, 100],
  [40, 50],
] as const
const LIMIT_OF_EACH = 500

interface Found {
  readonly aims: readonly Aim[]
  readonly tables: readonly Table[]
  readonly data: unknown
}

/**
 * Large fleets, two tenants of weight 1 in each process, of which every second one pauses after a fifth of a window.
 */
export async function manyProcesses(effort: Effort, tell: Tell): Promise<Found> {
  const rows: { count: number; quantum: number; fleet: Fleet; mostCalls: number }[] = []
  for (const [count, quantum] of FLEETS) {
    tell(`half of ${count} processes pause, quanta of ${quantum}`)
    const processes = Array.from({ length: count }, (_, i) => [greedy(`a${i}`, 1), greedy(`b${i}`, 1)])
    const limit = LIMIT_OF_EACH * count
    const fleet = await fleetOf(`${count} processes`, { limit, quantum, processes: halfPause(processes) }, effort)
    rows.push({ count, quantum, fleet, mostCalls: limit / quantum + 40 * count })
  }
  return {
    aims: rows.map(({ count, quantum, fleet: { used } }) => ({
      what: `half of ${count} processes pause, quanta of ${quantum}: used, %`,
      ours: 100 * used,
      goal: { least: 97 },
    })),
    tables: [
      {
        id: 'many',
        title: `Every second process pauses after T/5; limit ${LIMIT_OF_EACH} for each process`,
        head: ['processes', 'quantum', 'used, %', 'goal', 'most calls', 'goal'],
        rows: rows.map(({ count, quantum, fleet: { used, calls }, mostCalls }) => [
          String(count),
          String(quantum),
          percents(used),
          '≥ 97',
          String(calls),
          `≤ ${mostCalls}`,
        ]),
      },
    ],
    data: rows,
  }
}
