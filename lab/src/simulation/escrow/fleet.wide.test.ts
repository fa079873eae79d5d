import { hierarchy } from '@fairlead/core/escrow'
import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FleetResult, type FleetScenario, type FleetTenant, simulateFleet } from './fleet.js'

const LIMIT = 2_000
const WINDOW_MS = 2_000

/** A tenant that asks for several times its share. */
function greedy(name: string, weight: number, more: Partial<FleetTenant> = {}): FleetTenant {
  return { name, weight, cost: 1, everyMs: 2, ...more }
}

/** Four processes with two tenants each. */
const EIGHT: readonly (readonly FleetTenant[])[] = [
  [greedy('w1', 1), greedy('w2', 2)],
  [greedy('w3', 3), greedy('w4', 4)],
  [greedy('a', 1), greedy('b', 1)],
  [greedy('c', 1), greedy('d', 1)],
]
const WEIGHTS = new Map(EIGHT.flat().map(({ name, weight }) => [name, weight]))

function run(scenario: Partial<FleetScenario>): Promise<FleetResult> {
  const defaults = { limit: LIMIT, windowMs: WINDOW_MS, quantum: 25, windows: 8, processes: EIGHT }
  return simulateFleet({ seed: 1, ...defaults, ...scenario })
}

/** Share of the limit that was used, on average over whole windows; the first one starts without grants. */
function used({ windows }: FleetResult, limit = LIMIT): number {
  const whole = windows.slice(1)
  return whole.reduce((sum, { admitted }) => sum + admitted, 0) / whole.length / limit
}

function most({ windows }: FleetResult): number {
  return Math.max(...windows.map(({ admitted }) => admitted))
}

function mostCalls({ windows }: FleetResult): number {
  return Math.max(...windows.map(({ calls }) => calls))
}

const TREE = hierarchy({
  name: 'all',
  children: [
    { name: 'g', weight: 2, children: [{ name: 'a' }, { name: 'b' }] },
    { name: 'h', weight: 1, children: [{ name: 'c' }] },
    { name: 'd' },
  ],
})

const WEATHER = { requestsLost: 0.025, answersLost: 0.01, late: 0.01 }

describe('a fleet on one pool, while all ask', () => {
  it.each([1, 2, 3])('shares by weight across processes, and uses it all, seed %d', async (seed) => {
    const result = await run({ seed })
    expect(most(result)).toBeLessThanOrEqual(LIMIT)
    expect(used(result)).toBeGreaterThanOrEqual(0.99)
    for (const { byTenant } of result.windows.slice(1))
      for (const [tenant, got] of byTenant) {
        const ideal = (LIMIT * WEIGHTS.get(tenant)!) / 14
        expect(Math.abs(got - ideal), `${tenant}: ${got} of ${ideal}`).toBeLessThanOrEqual(25)
      }
  })

  it.each([10, 30, 100])('gives 4 : 1 on two processes within a quantum of %d', async (quantum) => {
    const result = await run({ limit: 1_000, quantum, processes: [[greedy('heavy', 4)], [greedy('light', 1)]] })
    expect(most(result)).toBeLessThanOrEqual(1_000)
    expect(used(result, 1_000)).toBeGreaterThanOrEqual(0.99)
    for (const { byTenant } of result.windows.slice(1))
      expect(Math.abs(byTenant.get('heavy')! - 800)).toBeLessThanOrEqual(quantum)
  })

  const two: FleetScenario['processes'] = [[greedy('heavy', 4)], [greedy('light', 1)]]
  const quanta: [number, number, FleetScenario['processes']][] = [
    [1_000, 10, two],
    [1_000, 30, two],
    [1_000, 100, two],
    [LIMIT, 10, EIGHT],
    [LIMIT, 25, EIGHT],
    [LIMIT, 50, EIGHT],
  ]

  it.each(quanta)(
    'calls the store 1.1 times limit / quantum and 24 times per process at most: %d / %d',
    async (limit, quantum, processes) => {
      for (const seed of [1, 2]) {
        const result = await run({ seed, limit, quantum, processes })
        expect(mostCalls(result)).toBeLessThanOrEqual((1.1 * limit) / quantum + 24 * processes.length)
      }
    },
  )

  it('answers at once but for the few checks that draw a lease', async () => {
    const result = await run({ quantum: 50 })
    expect(result.local / result.checks).toBeGreaterThan(0.9)
    // The others waited for a round trip of at most 5 ms, or for two.
    expect(result.slowestMs).toBeLessThan(15.1)
    expect(result.storeErrors).toBe(0)
  })

  const leases: [string, number, string][] = [
    ['0.89', 9, 'two tenants of its own'],
    ['0.67', 12, 'the same two tenants'],
    ['0.67', 12, 'two tenants of its own'],
  ]

  it.each(leases)(
    'waits for no lease after the first one, 50 ms away, and calls for one admission in a hundred at most: %s of the limit, a request per %d ms, each process has %s',
    async (part, everyMs, whose) => {
      const [limit, windowMs] = [20_000, 20_000]
      const processes = [0, 1, 2, 3].map((at) =>
        ['a', 'b'].map((name) => greedy(whose === 'the same two tenants' ? name : `${name}${at}`, 1, { everyMs })),
      )
      const shared = { limit, windowMs, quantum: limit / 100, windows: 3, processes, storeTimeoutMs: 500 }
      const result = await run({ ...shared, weather: { roundTripMs: [50, 50] } })
      for (const { admitted, calls } of result.windows) {
        expect(admitted).toBeGreaterThan((Number(part) - 0.05) * limit)
        expect(calls).toBeLessThanOrEqual(0.01 * admitted)
      }
      // Also across the end of a window: its first checks spend budget that was drawn before.
      for (const atMs of result.waitsMs) expect(atMs).toBeLessThan(150)
      expect(result.slowestMs).toBeLessThanOrEqual(100.1)
    },
  )

  it('uses what fits with coarse costs, some above the quantum', async () => {
    const coarse = EIGHT.map((tenants) => tenants.map((one) => ({ ...one, cost: [1, 40] as const, everyMs: 20 })))
    const result = await run({ processes: coarse })
    expect(most(result)).toBeLessThanOrEqual(LIMIT)
    // Less than one mean cost per process is left.
    expect(used(result)).toBeGreaterThanOrEqual(1 - (4 * 20) / LIMIT)
  })
})

describe('a fleet on one pool, while half of the processes pause', () => {
  it.each([1, 2, 3])('lends what they leave, seed %d', async (seed) => {
    const processes = EIGHT.map((tenants, at) =>
      at % 2 === 0 ? tenants : tenants.map((one) => ({ ...one, active: [0, 0.2] as const })),
    )
    const result = await run({ seed, processes })
    expect(most(result)).toBeLessThanOrEqual(LIMIT)
    expect(used(result)).toBeGreaterThanOrEqual(0.97)
    expect(mostCalls(result)).toBeLessThanOrEqual(LIMIT / 25 + 36 * 4)
  })

  const fleets: [number, number][] = [
    [20, 25],
    [20, 100],
    [40, 50],
  ]
  it.each(fleets)('lends what they leave, %d processes, quanta of %d', async (count, quantum) => {
    const limit = 500 * count
    const processes = Array.from({ length: count }, (_, at) =>
      ['a', 'b'].map((name) => greedy(`${name}${at}`, 1, at % 2 === 0 ? {} : { active: [0, 0.2] })),
    )
    const result = await run({ limit, quantum, processes, windows: 3 })
    expect(most(result)).toBeLessThanOrEqual(limit)
    expect(used(result, limit)).toBeGreaterThanOrEqual(0.97)
    expect(mostCalls(result)).toBeLessThanOrEqual(limit / quantum + 40 * count)
  })
})

describe('a fleet on one pool, in bad weather', () => {
  it.each([1, 2, 3, 4, 5])('never admits more than the limit in a window of the store, seed %d', async (seed) => {
    const result = await run({ seed, windows: 25, weather: WEATHER, crashes: 0.1 })
    expect(result.crashes).toBeGreaterThan(3)
    expect(result.storeErrors).toBeGreaterThan(0)
    expect(most(result)).toBeLessThanOrEqual(LIMIT)
    expect(used(result)).toBeGreaterThanOrEqual(0.99)
    // A pending call, and then its own.
    expect(result.slowestMs).toBeLessThan(100.1)
  })

  it.each([1, 2])('admits no more than the limit where answers are later than windows, seed %d', async (seed) => {
    // A third of the answers arrives after a quarter to more than a whole window.
    const weather = { ...WEATHER, late: 0.33, lateMs: 55 }
    const result = await run({
      seed,
      limit: 50,
      windowMs: 50,
      quantum: 5,
      windows: 200,
      weather,
      storeTimeoutMs: 10,
    })
    expect(most(result)).toBeLessThanOrEqual(50)
    expect(used(result, 50)).toBeGreaterThan(0.3)
  })

  it('never admits more than the limit, whatever befalls it', async () => {
    const tenant = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      weight: fc.constantFrom(0.5, 1, 3),
      cost: fc.constantFrom(1, 7, [1, 30] as const, 60),
      everyMs: fc.constantFrom(1, 4, 15),
    })
    // One name has one weight.
    const named = fc.uniqueArray(tenant, { minLength: 1, maxLength: 3, selector: ({ name }) => name })
    const scenario = fc.record({
      seed: fc.nat(),
      processes: fc.array(named, { minLength: 1, maxLength: 4 }),
      quantum: fc.constantFrom(1, 9, 50),
      crashes: fc.constantFrom(0, 0.5),
      storeTimeoutMs: fc.constantFrom(5, 20, 150),
      isTree: fc.boolean(),
      weather: fc.record({
        roundTripMs: fc.constantFrom([1, 5] as const, [0, 40] as const, [50, 120] as const),
        requestsLost: fc.constantFrom(0, 0.2),
        answersLost: fc.constantFrom(0, 0.2),
        late: fc.constantFrom(0, 0.3),
        lateMs: fc.constantFrom(20, 130),
      }),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ isTree, ...one }) => {
        const tree = isTree ? { tree: TREE } : {}
        const result = await simulateFleet({ ...one, ...tree, limit: 200, windowMs: 100, windows: 6 })
        expect(most(result)).toBeLessThanOrEqual(200)
        // A pending call and then its own; in a tree, once more for the pool above.
        expect(result.slowestMs).toBeLessThan(2 * one.storeTimeoutMs * (isTree ? 2 : 1) * 1.01)
      }),
      propertyRuns(0.25),
    )
  })

  it('goes on as soon as a store that was away is back, and exceeds nothing', async () => {
    // Away from the middle of the third window to the middle of the fifth.
    const away = [2.5 * WINDOW_MS, 4.5 * WINDOW_MS] as const
    const result = await run({ windows: 8, away })
    const shares = result.windows.map(({ admitted }) => admitted / LIMIT)
    expect(most(result)).toBeLessThanOrEqual(LIMIT)
    expect(shares[3]).toBe(0)
    for (const window of [1, 4, 5, 6, 7]) expect(shares[window], `${window}`).toBeGreaterThan(0.95)
    expect(result.slowestMs).toBeLessThan(50.1)
    expect(result.storeErrors).toBeGreaterThan(100)
  })

  it('exceeds nothing when the store loses its memory, and goes on in the next window', async () => {
    const shares: number[] = []
    for (let seed = 1; seed <= 12; seed++) {
      // In the second window soon after its start, in the fourth in the middle, in the sixth near the end.
      const faults = [1.02, 3.5, 5.9].map((window) => ({ kind: 'forget' as const, atMs: window * WINDOW_MS }))
      const result = await run({ seed, faults, weather: WEATHER })
      expect(most(result)).toBeLessThanOrEqual(LIMIT)
      for (const window of [2, 4, 6, 7]) shares.push(result.windows[window]!.admitted / LIMIT)
    }
    // Of 640 such windows, the least used .97, where the weather took the last calls.
    expect(Math.min(...shares)).toBeGreaterThan(0.96)
    expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(0.995)
  })

  it('spends what was kept for each process while the store is away, where that is declared', async () => {
    const away = [1.1 * WINDOW_MS, 2 * WINDOW_MS] as const
    const admitted = async (onStoreError: 'refuse' | 'last-share' | 'admit') => {
      const { windows, heldWhenAway } = await run({ windows: 2, away, onStoreError })
      return { sum: windows[1]!.admitted, heldWhenAway }
    }
    const refused = await admitted('refuse')
    expect(refused.sum).toBeLessThan(LIMIT / 2)
    const local = await admitted('last-share')
    expect(local.sum).toBeGreaterThan(0.9 * LIMIT)
    expect(local.sum).toBeLessThanOrEqual(LIMIT + local.heldWhenAway)
    const all = await admitted('admit')
    expect(all.sum).toBeGreaterThan(local.sum)
  })
})
