import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { LeasedFairEscrow } from './escrows.js'
import type { LeasedDecision } from './options.js'
import { MemoryPoolStore } from './stores.js'

const WINDOW_MS = 1_000
const LIMIT = 1_000
const WINDOWS = 20
const STEPS = 200

/** A tenant of one of two processes; it asks at an interval, or when it is told, or only where `asks`. */
interface Asker {
  name: string
  process: 0 | 1
  cost: (window: number) => number
  everyMs?: number
  weight?: number
  asks?: (window: number, step: number) => boolean
}

/** Use of each tenant in each window. */
function use(askers: readonly Asker[], quantum = 10): Record<string, number[]> {
  const clock = manualClock()
  const store = new MemoryPoolStore({ clock })
  const weightOf = (tenant: string): number => askers.find(({ name }) => name === tenant)?.weight ?? 1
  const shared = { pool: 'p', limit: LIMIT, windowMs: WINDOW_MS, quantum, store, weightOf, clock }
  const own = { random: seededRandom(1), after: () => () => {}, estimates: 'asked' } as const
  const processes = [0, 1].map(() => new LeasedFairEscrow({ ...shared, ...own }))
  const used = Object.fromEntries(askers.map(({ name }) => [name, Array.from({ length: WINDOWS }, () => 0)]))
  const nextMs = askers.map(() => 0)
  for (let at = 0; at < WINDOWS * STEPS; at++) {
    clock.advance((at * WINDOW_MS) / STEPS - clock())
    const [window, step] = [Math.floor(at / STEPS), at % STEPS]
    for (const [index, { name, process, cost, everyMs, asks }] of askers.entries()) {
      if (clock() < nextMs[index]! || asks?.(window, step) === false) continue
      let decision: LeasedDecision
      do {
        decision = processes[process]!.check(name, cost(window)) as LeasedDecision
        if (decision.allowed) used[name]![window]! += cost(window)
      } while (decision.allowed && everyMs === 0 && step > 0)
      nextMs[index] = everyMs === undefined ? clock() + Math.max(1, decision.retryAfterMs) : clock() + everyMs - 1e-9
    }
  }
  return used
}

const inAll = (used: Record<string, number[]>): number[] =>
  Array.from({ length: WINDOWS }, (_, at) => Object.values(used).reduce((sum, amounts) => sum + amounts[at]!, 0))
const total = (amounts: readonly number[] | undefined): number => amounts!.reduce((sum, amount) => sum + amount, 0)

describe.each([
  ['of one process', 0],
  ['of two processes', 1],
] as const)('tenants %s', (_, second) => {
  it.each([25, 100, WINDOW_MS / 7, 160, 250, 400, undefined])(
    'that ask for nearly all of the limit, every %s ms, are served in turns',
    (everyMs) => {
      const dear = { cost: () => 990, ...(everyMs !== undefined && { everyMs }) }
      const used = use([
        { name: 'a', process: 0, ...dear },
        { name: 'b', process: second, ...dear },
      ])
      expect(inAll(used).slice(1)).toEqual(Array.from({ length: WINDOWS - 1 }, () => 990))
      expect(Math.abs(total(used['a']) - total(used['b']))).toBeLessThanOrEqual(2 * 990)
    },
  )

  // The smaller call is within the part of the limit, but not within what is left of that beside the carried amount.
  it.each([
    [990, 400, 25],
    [990, 400, 100],
    [990, 300, 100],
    [811, 450, 100],
  ])('that ask for %d and for %d, every %d ms, use every window', (large, small, everyMs) => {
    const used = use([
      { name: 'a', process: 0, cost: () => large, everyMs },
      { name: 'b', process: second, cost: () => small, everyMs },
    ])
    expect(Math.min(...inAll(used))).toBeGreaterThanOrEqual(small)
    expect(total(used['a'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
    expect(total(used['b'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
  })

  it.each([
    [25, 300, 1],
    [100, 300, 0.01],
    [100, 600, 1],
    [100, 850, 1],
    [undefined, 600, 0.1],
  ])(
    'of which one asks every %s ms for %d, with a weight of %d, is served beside others that became quiet',
    (everyMs, cost, weight) => {
      const heavy = {
        cost: (window: number) => (window < 8 ? 10 : 1),
        everyMs: 0,
        asks: (window: number, step: number) => (window < 8 ? step > 0 : step === 0),
      }
      const used = use([
        { name: 'h', process: 0, ...heavy, everyMs: 0 },
        { name: 'i', process: second, ...heavy, everyMs: 0 },
        { name: 'waiting', process: 0, cost: () => cost, weight, ...(everyMs !== undefined && { everyMs }) },
      ])
      expect(used['waiting']!.slice(9)).not.toContain(0)
    },
  )

  it('leave a polite tenant its demand, beside a call that is never served', () => {
    const of = (process: 0 | 1, name: string, cost: number, everyMs: number, weight = 1): Asker => ({
      ...{ name, process, cost: () => cost, everyMs, weight },
    })
    const used = use([
      of(second, 'heavy', 173, 20, 4),
      of(0, 'light', 15, 140, 4),
      of(second, 'lightest', 5, 140),
      of(0, 'polite', 4.55, WINDOW_MS / 15),
      of(0, 'giant', 914, 100),
    ])
    expect(total(used['giant'])).toBe(0)
    expect(total(used['polite'])).toBeGreaterThan(0.9 * WINDOWS * 15 * 4.55)
  })

  it.each([
    [850, 8, 19],
    [900, 8, 12.5],
    [990, 1, 1],
  ])('leave a hungry tenant its part, beside a call for %d that does not fit beside %d of %d', (large, calls, cost) => {
    const used = use([
      { name: 'quiet', process: 0, cost: () => cost, everyMs: WINDOW_MS / calls },
      { name: 'giant', process: second, cost: () => large, everyMs: 20 },
      { name: 'hungry', process: 0, cost: () => 5, everyMs: 5 },
    ])
    expect(total(used['giant'])).toBe(0)
    expect(total(used['hungry']!.slice(5))).toBeGreaterThan(0.95 * (WINDOWS - 5) * (LIMIT / 3))
  })
})
