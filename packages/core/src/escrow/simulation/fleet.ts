import type { Clock } from '../../clock.js'
import type { Random } from '../../random.js'
import { seededRandom } from '../../testing/seeded-random.js'
import type { OnStoreError } from '../leased/decision.js'
import { LeasedFairEscrow } from '../leased/leased-fair-escrow.js'
import { MemoryPoolStore } from '../pool/memory-store.js'
import type { PoolStore } from '../pool/store.js'
import { DistantStore, type Weather } from './network.js'
import { Timeline } from './timeline.js'

/** A tenant that asks again and again. */
export interface FleetTenant {
  name: string
  weight: number
  /** Cost of a request; of each anew, if it is two numbers: whole ones from the first to the second. */
  cost: number | readonly [number, number]
  /** Mean time between two requests that are allowed; one that is refused comes back when it is told to. */
  everyMs: number
  /** Asks only in this part of each window. @default [0, 1] */
  active?: readonly [number, number]
}

export interface FleetScenario {
  seed: number
  limit: number
  windowMs: number
  quantum: number
  windows: number
  /** The tenants of each process. */
  processes: readonly (readonly FleetTenant[])[]
  /** What befalls calls. @default round trips of 1 to 5 ms, nothing lost or late */
  weather?: Partial<Weather>
  /** How far apart the clocks of the processes are. @default 1000 */
  skewMs?: number
  /** How much faster or slower they go than the store's, at most. @default 0.0005 */
  drift?: number
  /** Chance of each process to crash in a window; another one takes its place at once. @default 0 */
  crashes?: number
  onStoreError?: OnStoreError
  storeTimeoutMs?: number
  /** Times between which the store is away. */
  away?: readonly [number, number]
  /** Times at which the store loses its memory. */
  forgets?: readonly number[]
  /** Makes the store, which must answer at once. @default the pool that ships */
  storeOf?: (clock: Clock) => PoolStore
}

/** What happened in a window of the store's clock. */
export interface FleetWindow {
  admitted: number
  byTenant: Map<string, number>
  calls: number
}

export interface FleetResult {
  windows: FleetWindow[]
  /** Longest that a check took, and how many were answered at once. */
  slowestMs: number
  local: number
  checks: number
  /** Answers that were declared for a store that is away. */
  storeErrors: number
  crashes: number
  /** What the pool kept for all processes together, as they knew it when the store went away. */
  heldWhenAway: number
}

/** One process: an escrow of its own, on a clock of its own. */
interface Process {
  escrow: LeasedFairEscrow
  alive: boolean
}

/** Runs a fleet on one pool, and gives what was admitted, window by window of the store's clock. */
export async function simulateFleet(scenario: FleetScenario): Promise<FleetResult> {
  const { seed, limit, windowMs, quantum, windows, processes } = scenario
  const { skewMs = 1_000, drift = 0.0005, crashes = 0, onStoreError = 'refuse', storeTimeoutMs = 50 } = scenario
  const random = seededRandom(seed)
  const { storeOf = (clock) => new MemoryPoolStore({ clock }) } = scenario
  const timeline = new Timeline()
  let memory = storeOf(timeline.clock(0))
  const fair: Weather = { roundTripMs: [1, 5], requestsLost: 0, answersLost: 0, late: 0, lateMs: windowMs / 50 }
  const store = new DistantStore(
    { lease: (call) => memory.lease(call) },
    timeline,
    { ...fair, ...scenario.weather },
    random,
  )
  const result: FleetResult = {
    windows: [],
    slowestMs: 0,
    local: 0,
    checks: 0,
    storeErrors: 0,
    crashes: 0,
    heldWhenAway: 0,
  }

  const windowNow = (): FleetWindow => {
    const at = Math.floor(timeline.nowMs / windowMs)
    while (result.windows.length <= at) result.windows.push({ admitted: 0, byTenant: new Map(), calls: 0 })
    return result.windows[at]!
  }
  const start = (): Process => {
    const rate = 1 + drift * (2 * random() - 1)
    const clock = timeline.clock(1e6 + skewMs * random(), rate)
    const shared = { pool: 'fleet', limit, windowMs, quantum, store, random, onStoreError, storeTimeoutMs }
    const weights = new Map(processes.flat().map(({ name, weight }) => [name, weight]))
    const weightOf = (tenant: string): number => weights.get(tenant)!
    const escrow = new LeasedFairEscrow({ ...shared, weightOf, clock, after: timeline.after(rate) })
    return { escrow, alive: true }
  }
  const fleet = processes.map(start)

  const run = (place: number, tenant: FleetTenant): void => {
    const { name, cost, everyMs, active = [0, 1] } = tenant
    const again = (afterMs: number): void => timeline.at(timeline.nowMs + afterMs, ask)
    const ask = (): void => {
      const part = (timeline.nowMs % windowMs) / windowMs
      if (part < active[0] || part >= active[1]) {
        again((((active[0] - part + 1) % 1) + 1e-6) * windowMs)
        return
      }
      const process = fleet[place]!
      const asked = typeof cost === 'number' ? cost : wholeFrom(random, cost)
      const askedMs = timeline.nowMs
      const answer = process.escrow.check(name, asked)
      if (!(answer instanceof Promise)) result.local++
      void Promise.resolve(answer).then(({ allowed, reason, retryAfterMs }) => {
        result.checks++
        result.slowestMs = Math.max(result.slowestMs, timeline.nowMs - askedMs)
        if (reason === 'store-error') result.storeErrors++
        // What a process that crashed meanwhile has decided reaches nobody.
        if (allowed && process.alive) {
          const window = windowNow()
          window.admitted += asked
          window.byTenant.set(name, (window.byTenant.get(name) ?? 0) + asked)
        }
        again(allowed ? everyMs * (0.5 + random()) : Math.min(retryAfterMs, windowMs))
      })
    }
    timeline.at(everyMs * random(), ask)
  }
  for (const [place, tenants] of processes.entries()) for (const tenant of tenants) run(place, tenant)

  if (scenario.away !== undefined) {
    const [fromMs, toMs] = scenario.away
    timeline.at(fromMs, () => {
      store.away = true
      for (const { escrow } of fleet) result.heldWhenAway += escrow.snapshot().held
    })
    timeline.at(toMs, () => {
      store.away = false
    })
  }
  for (const atMs of scenario.forgets ?? [])
    timeline.at(atMs, () => {
      memory = storeOf(timeline.clock(0))
    })
  for (let window = 0; window < windows; window++) {
    for (const place of fleet.keys())
      if (random() < crashes)
        timeline.at((window + random()) * windowMs, () => {
          fleet[place]!.alive = false
          fleet[place] = start()
          result.crashes++
        })
    const before = store.calls
    await timeline.run((window + 1) * windowMs - 1e-6)
    windowNow().calls = store.calls - before
  }
  return result
}

function wholeFrom(random: Random, [least, most]: readonly [number, number]): number {
  return least + Math.floor(random() * (most - least + 1))
}
