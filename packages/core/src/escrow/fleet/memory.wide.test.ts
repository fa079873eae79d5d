import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { LeasedFairEscrow } from './escrows.js'
import { farStore } from './fixtures/stores.js'
import { MemoryPoolStore } from './stores.js'

const WINDOW_MS = 10_000
const WINDOWS = 20
const WEIGHTS = [4, 2, 1, 1]
/** Promises that may depend on each other between an answer and the client's next request. */
const TURNS = 12

interface Polite {
  limit: number
  cost: number
  connections: number
  seed: number
  windowMs?: number
  windows?: number
  roundTripMs?: number
  /** Called with each admission, at `atMs`. */
  admitted?: (atMs: number, cost: number) => void
  /** The process that a connection of a tenant is to. */
  placeOf: (tenant: number, connection: number) => number
}

/**
 * Clients of three processes, and a store `roundTripMs` away, that come back when an HTTP adapter tells them to; what
 * each got, window by window.
 */
async function politeClients(polite: Polite): Promise<number[][]> {
  const { limit, cost, connections, seed, windowMs = WINDOW_MS, windows = WINDOWS, admitted, placeOf } = polite
  const { roundTripMs = 0 } = polite
  const random = seededRandom(seed)
  const clock = manualClock()
  const events: { atMs: number; run: () => void }[] = []
  const after = (ms: number, run: () => void) => {
    const event = { atMs: clock() + ms, run }
    events.push(event)
    return () => void events.splice(events.indexOf(event), events.includes(event) ? 1 : 0)
  }
  const near = new MemoryPoolStore({ clock })
  const weightOf = (tenant: string): number => WEIGHTS[Number(tenant)]!
  const store = roundTripMs > 0 ? farStore(near, roundTripMs, after) : near
  const shared = { pool: 'p', limit, windowMs, store, storeTimeoutMs: 1_000, weightOf, clock, random, after }
  const processes = [0, 1, 2].map(() => new LeasedFairEscrow(shared))
  const got = Array.from({ length: windows }, () => WEIGHTS.map(() => 0))
  const ask = async (tenant: number, at: number): Promise<void> => {
    const { allowed, retryAfterMs } = await processes[at]!.check(String(tenant), cost)
    const window = got[Math.floor(clock() / WINDOW_MS)]
    if (allowed && window !== undefined) window[tenant]! += cost
    if (allowed) admitted?.(clock(), cost)
    // Whole seconds, and up to half as much again by chance.
    const seconds = Math.max(1, Math.ceil((retryAfterMs / 1_000) * (1 + random() / 2)))
    // Windows of a second are too short for these delays.
    const pauseMs = windowMs < WINDOW_MS ? retryAfterMs * (1 + random() / 2) : seconds * 1_000
    after(allowed ? 5 + 2 * random() : pauseMs, () => void ask(tenant, at))
  }
  for (const tenant of WEIGHTS.keys())
    for (let connection = 0; connection < connections; connection++)
      after(50 * random(), () => void ask(tenant, placeOf(tenant, connection)))
  for (;;) {
    const next = events.reduce((a, b) => (b.atMs < a.atMs ? b : a))
    if (next.atMs >= windows * WINDOW_MS) return got
    events.splice(events.indexOf(next), 1)
    clock.advance(Math.max(0, next.atMs - clock()))
    next.run()
    // Answers that have arrived are read.
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve()
  }
}

const PLACES: Record<string, Polite['placeOf']> = {
  'at every process': (_tenant, connection) => connection % 3,
  'each at one process': (tenant) => tenant % 3,
  anywhere: (tenant, connection) => (tenant * 5 + connection * connection) % 3,
}

/** By how much the part of each tenant differs from its weight's. */
function differences(amounts: readonly number[]): number[] {
  const sum = amounts.reduce((a, b) => a + b, 0)
  const weights = WEIGHTS.reduce((a, b) => a + b, 0)
  return amounts.map((amount, at) => Math.abs(amount / sum - WEIGHTS[at]! / weights))
}

/** The largest difference over ten windows. */
function overTen(windows: readonly number[][], from: number): number {
  const ten = windows.slice(from, from + 10)
  return Math.max(...differences(WEIGHTS.map((_weight, at) => ten.reduce((sum, window) => sum + window[at]!, 0))))
}

describe('clients of a fleet that come back by Retry-After', () => {
  it.each(Object.keys(PLACES))('get their weights, %s', async (places) => {
    for (const seed of [1, 2, 3]) {
      const windows = await politeClients({ limit: 300, cost: 1, connections: 6, seed, placeOf: PLACES[places]! })
      for (const window of windows) {
        const used = window.reduce((a, b) => a + b, 0)
        expect(used).toBeLessThanOrEqual(300)
        expect(used).toBeGreaterThan(0.98 * 300)
        expect(Math.max(...differences(window))).toBeLessThan(0.03)
      }
      const mean = windows.flatMap(differences).reduce((a, b) => a + b, 0) / (WINDOWS * WEIGHTS.length)
      expect(mean).toBeLessThan(0.004)
      for (const from of [0, 10]) expect(overTen(windows, from)).toBeLessThan(0.003)
    }
  })

  it.each(Object.keys(PLACES))(
    'get them over ten windows, where a guarantee is less than one cost, %s',
    async (places) => {
      for (const seed of [1, 2, 3]) {
        const windows = await politeClients({ limit: 30, cost: 5, connections: 3, seed, placeOf: PLACES[places]! })
        for (const from of [0, 10]) expect(overTen(windows, from)).toBeLessThan(0.04)
      }
    },
  )

  it.each([5, 20])('get them from a store %d ms away, once it has seen a window', async (roundTripMs) => {
    const shared = { limit: 300, cost: 1, connections: 6, roundTripMs }
    const all: number[] = []
    for (const places of ['at every process', 'anywhere'])
      for (const seed of [1, 2, 3]) {
        const windows = await politeClients({ ...shared, seed, windows: 22, placeOf: PLACES[places]! })
        for (const window of windows) expect(window.reduce((a, b) => a + b, 0)).toBeGreaterThan(0.97 * 300)
        // The second window makes up for the first, in which the pool did not know its tenants.
        all.push(...windows.slice(2).map((window) => Math.max(...differences(window))))
        for (const from of [2, 12]) expect(overTen(windows, from)).toBeLessThan(0.006)
      }
    expect(Math.max(...all)).toBeLessThan(0.05)
    expect(all.filter((difference) => difference >= 0.03).length).toBeLessThanOrEqual(0.02 * all.length)
  })

  it('get them in each window from a store 20 ms away, each at one process', async () => {
    for (const seed of [1, 2, 3]) {
      const placeOf = PLACES['each at one process']!
      const windows = await politeClients({ limit: 300, cost: 1, connections: 6, roundTripMs: 20, seed, placeOf })
      for (const window of windows) expect(Math.max(...differences(window))).toBeLessThan(0.03)
    }
  })

  it('get them, and no span sees more than the limit, in windows of a tenth', async () => {
    const spent: { atMs: number; cost: number }[] = []
    const admitted = (atMs: number, cost: number) => void spent.push({ atMs, cost })
    const shared = { limit: 90, windowMs: WINDOW_MS / 10, windows: 5, admitted, placeOf: PLACES['anywhere']! }
    const windows = await politeClients({ ...shared, cost: 1, connections: 3, seed: 1 })
    // Ten of the windows, and one more that a span may touch.
    const limit = 11 * 90
    let [first, sum, most] = [0, 0, 0]
    for (const { atMs, cost } of spent) {
      sum += cost
      for (; spent[first]!.atMs <= atMs - WINDOW_MS; first++) sum -= spent[first]!.cost
      most = Math.max(most, sum)
    }
    expect(most).toBeLessThanOrEqual(limit)
    for (const window of windows.slice(1)) {
      expect(window.reduce((a, b) => a + b, 0)).toBeGreaterThan(0.88 * limit)
      expect(Math.max(...differences(window))).toBeLessThan(0.01)
    }
  })
})
