import { describe, expect, it } from 'vitest'
import { type Client, type ClientWindow, simulateClients } from './clients.js'

const WINDOW_MS = 60_000

/** Tenants of these weights; those in `pausing` leave most of their share. */
function tenants(weights: readonly number[], pausing: readonly number[], more: Partial<Client> = {}): Client[] {
  return weights.map((weight, i) => {
    const client: Client = { weight, cost: 1, returns: 'as-told', ...more }
    return pausing.includes(i) ? { ...client, pausesAt: 0.2 } : client
  })
}

function run(clients: readonly Client[], limit: number): ClientWindow[] {
  const settings = { seed: 1, limit, windowMs: WINDOW_MS, reserve: 'paced', windows: 3 } as const
  return simulateClients({ ...settings, clients })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/**
 * The largest difference between two asking tenants, per weight, in units of the bound for tenants that never pause.
 */
function deviation(clients: readonly Client[], windows: readonly ClientWindow[], largest: number): number {
  const asking = clients.flatMap(({ pausesAt }, i) => (pausesAt === undefined ? [i] : []))
  const weight = (i: number): number => clients[i]!.weight
  const least = Math.min(...asking.map(weight))
  const gaps = windows.flatMap(({ used }) =>
    asking.flatMap((i) =>
      asking.map((j) => {
        const bound = largest * (1 / weight(i) + 1 / weight(j) + 1 / least)
        return Math.abs(used[i]! / weight(i) - used[j]! / weight(j)) / bound
      }),
    ),
  )
  return Math.max(...gaps)
}

const FLEETS = [
  ['1 : 1', [1, 1, 1, 1], [2, 3]],
  ['4 : 1', [4, 1, 4, 1], [2, 3]],
  ['1 : 1 : 8', [1, 1, 8, 1, 1, 8], [3, 4, 5]],
  ['1 : 1 of eight', [1, 1, 1, 1, 1, 1, 1, 1], [2, 3, 4, 5, 6, 7]],
] as const

const COSTS = [
  ['a thousandth of a percent', 1],
  ['half a percent', 150],
  ['five percent', 1_500],
  ['anything up to five percent', [1, 1_500]],
] as const

describe.each(FLEETS)(
  'tenants of weights %s that come back when they are told, while others pause',
  (_, weights, pausing) => {
    it.each(COSTS)('use all but the last cost, by weight, at costs of %s', (_, cost) => {
      const largest = typeof cost === 'number' ? cost : cost[1]
      const clients = tenants(weights, pausing, { cost })
      const windows = run(clients, 30_000)
      for (const { used } of windows) expect(sum(used)).toBeGreaterThanOrEqual(30_000 - largest)
      expect(deviation(clients, windows, largest)).toBeLessThanOrEqual(1)
      // Once for each admitted cost, and rarely in vain.
      const asked = sum(windows.map((window) => window.asked))
      const allowed = sum(windows.map((window) => window.allowed))
      expect(asked / allowed).toBeLessThan(cost === 1 ? 2 : 6)
    })

    it('lose little by coming late', () => {
      const windows = run(tenants(weights, pausing, { lateMs: WINDOW_MS / 100 }), 30_000)
      for (const { used } of windows) expect(sum(used)).toBeGreaterThanOrEqual(0.99 * 30_000)
    })

    it('lose nothing to one that asks all the time', () => {
      const [first, ...others] = tenants(weights, pausing)
      const clients = [{ ...first!, returns: WINDOW_MS / 2_000 }, ...others]
      const windows = run(clients, 30_000)
      for (const { used } of windows) expect(sum(used)).toBeGreaterThanOrEqual(0.999 * 30_000)
      // Waiting clients return at most once in a millisecond.
      expect(deviation(clients, windows, 1)).toBeLessThanOrEqual(2)
    })
  },
)

describe('tenants that come back at a slow pace of their own', () => {
  it('find what they are due', () => {
    const clients = tenants([4, 1, 4, 1], [2, 3], { returns: WINDOW_MS / 50 })
    const windows = run(clients, 30_000)
    // Up to a fiftieth of the paused tenants' budget is released after the last request.
    for (const { used } of windows) expect(sum(used)).toBeGreaterThanOrEqual(0.985 * 30_000)
    expect(deviation(clients, windows, 1)).toBeLessThanOrEqual(1)
  })
})
