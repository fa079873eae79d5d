import { hierarchy } from '@fairlead/core/escrow'
import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fault, simulateFleet } from './fleet.js'

const LIMIT = 400
const WINDOW_MS = 1_000
/** The faults happen in this window, which is fully contended. */
const FAULTY = 2
const WEIGHTS = [4, 1, 1, 1]
/** A run takes a tenth of a second. */
const RUNS = { numRuns: Math.ceil(propertyRuns().numRuns / 15) }

const TREE = hierarchy({
  name: 'all',
  children: [
    { name: 'g', weight: 4, children: [{ name: 't0' }, { name: 't1' }] },
    { name: 'h', weight: 1, children: [{ name: 't2' }] },
    { name: 't3' },
  ],
})

/** Four processes, each with a tenant that wants several times the limit, or about the limit. */
async function admitted(
  seed: number,
  faults: readonly Fault[],
  everyMs: number,
  quantum: number,
  isTree = false,
): Promise<number[]> {
  const processes = WEIGHTS.map((weight, at) => [{ name: `t${at}`, weight, cost: 1, everyMs }])
  const tree = isTree ? { tree: TREE } : {}
  const shared = { limit: LIMIT, windowMs: WINDOW_MS, quantum, windows: FAULTY + 3, storeTimeoutMs: 100, ...tree }
  const { windows } = await simulateFleet({ ...shared, seed, processes, faults, weather: { roundTripMs: [0.2, 2] } })
  return windows.map((window) => window.admitted)
}

const place = fc.integer({ min: 0, max: 3 })
/** A moment, from the faulty window's first to its last. */
const moment = fc.integer({ min: 0, max: 999 }).map((part) => FAULTY * WINDOW_MS + part)
const agoMs = fc.option(fc.integer({ min: 1, max: 600 }), { nil: undefined })
/** Clients reconnect after individual pauses. */
const reconnectMs = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 4, maxLength: 4 })

const FAULTS: Record<string, fc.Arbitrary<Fault[]>> = {
  'a process is killed': fc.tuple(moment, place).map(([atMs, at]) => [{ kind: 'kill', atMs, place: at }]),
  'a process stands still, over the end of windows, too': fc
    .tuple(moment, place, fc.integer({ min: 1, max: 2_500 }))
    .map(([atMs, at, forMs]) => [{ kind: 'stop', atMs, place: at, forMs }]),
  'the store is emptied, or set back': fc
    .tuple(moment, agoMs)
    .map(([atMs, ago]) => [{ kind: 'forget', atMs, ...(ago !== undefined && { agoMs: ago }) }]),
  'the store starts anew, and is found again by one after the other': fc
    .tuple(moment, reconnectMs, agoMs)
    .map(([atMs, times, ago]) => [
      { kind: 'restart', atMs, reconnectMs: times, ...(ago !== undefined && { agoMs: ago }) },
    ]),
  'a process stands still while the store starts anew': fc
    .tuple(moment, reconnectMs, place, fc.integer({ min: 20, max: 300 }))
    .map(([atMs, times, at, forMs]) => [
      { kind: 'stop', atMs: atMs - 20, place: at, forMs },
      { kind: 'restart', atMs, reconnectMs: times },
    ]),
  'the store is emptied twice': fc.tuple(moment, fc.integer({ min: 1, max: 300 })).map(([atMs, laterMs]) => [
    { kind: 'forget', atMs },
    { kind: 'forget', atMs: atMs + laterMs },
  ]),
}

describe('a fleet never admits more than the limit', () => {
  it.each(Object.entries(FAULTS))('when %s', async (_name, faults) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        faults,
        fc.constantFrom(1, 5, 9),
        fc.constantFrom(4, 10, 40),
        fc.boolean(),
        async (seed, some, everyMs, quantum, isTree) => {
          const windows = await admitted(seed, some, everyMs, quantum, isTree)
          for (const [at, sum] of windows.entries()) expect(sum, `window ${at}`).toBeLessThanOrEqual(LIMIT)
        },
      ),
      RUNS,
    )
  })

  it('in a tree, when one call of a group is answered twice', async () => {
    const faults = [{ kind: 'restart', atMs: 2_390, reconnectMs: [1, 218, 1, 1] }] as const
    for (const sum of await admitted(1_061_408_686, faults, 1, 10, true)) expect(sum).toBeLessThanOrEqual(LIMIT)
  })

  it('and uses it in the window in which the store was emptied, and in all later ones', async () => {
    for (const part of [0.05, 0.3, 0.6]) {
      const windows = await admitted(1, [{ kind: 'forget', atMs: (FAULTY + part) * WINDOW_MS }], 1, 4)
      for (const at of [1, FAULTY, FAULTY + 1, FAULTY + 2]) expect(windows[at], `${at}`).toBeGreaterThan(0.97 * LIMIT)
    }
  })
})
