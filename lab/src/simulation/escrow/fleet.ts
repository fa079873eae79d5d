import type { Clock, Random } from '@fairlead/core'
import type { Hierarchy, OnStoreError, PoolStore } from '@fairlead/core/escrow'
import { LeasedFairEscrow, MemoryPoolStore } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { Machine } from './machine.js'
import { DistantStore, Site, type Weather } from './network.js'
import { Timeline } from './timeline.js'

/** A tenant that asks repeatedly. */
export interface FleetTenant {
  name: string
  weight: number
  /** Cost of a request; two numbers: drawn anew for each, whole numbers from the first to the second. */
  cost: number | readonly [number, number]
  /** Mean time between two admitted requests; a refused one returns when it is told to. */
  everyMs: number
  /** Asks only in this part of each window. @default [0, 1] */
  active?: readonly [number, number]
}

/** A fault of a fleet at a time. */
export type Fault = { readonly atMs: number } & (
  | { readonly kind: 'kill'; readonly place: number }
  /** As by SIGSTOP and SIGCONT, or a handler that blocks for that time. */
  | { readonly kind: 'stop'; readonly place: number; readonly forMs: number }
  /** The store is emptied, or set back to its state `agoMs` ago. */
  | { readonly kind: 'forget'; readonly agoMs?: number }
  /** The store restarts and is empty, or set back; each process reconnects after its own delay. */
  | { readonly kind: 'restart'; readonly reconnectMs: readonly number[]; readonly agoMs?: number }
)

export interface FleetScenario {
  seed: number
  limit: number
  windowMs: number
  quantum: number
  windows: number
  /** The tenants of each process. */
  processes: readonly (readonly FleetTenant[])[]
  /** Delays and losses of calls. @default round trips of 1 to 5 ms, nothing lost or late */
  weather?: Partial<Weather>
  /** Spread of the clocks of the processes. @default 1000 */
  skewMs?: number
  /** Largest deviation of their rates from the store's clock. @default 0.0005 */
  drift?: number
  /** Chance of each process to crash in a window; another one replaces it immediately. @default 0 */
  crashes?: number
  onStoreError?: OnStoreError
  /** Groups that share first among themselves. @default all are in one group */
  tree?: Hierarchy
  storeTimeoutMs?: number
  /** Times between which the store is away. */
  away?: readonly [number, number]
  /** Other events, in order. */
  faults?: readonly Fault[]
  /** Creates the store, which must answer synchronously. @default the pool that ships */
  storeOf?: (clock: Clock) => PoolStore
}

/** Results of a window of the store's clock. */
interface FleetWindow {
  admitted: number
  byTenant: Map<string, number>
  calls: number
}

export interface FleetResult {
  windows: FleetWindow[]
  /** The longest check, the number of synchronous answers, and the times of the other checks. */
  slowestMs: number
  local: number
  waitsMs: number[]
  checks: number
  /** Answers that were given because the store was away. */
  storeErrors: number
  crashes: number
  /** Total budget that the pool held for all processes, as they knew it when the store went away. */
  heldWhenAway: number
}

/** One process: an escrow with its own clock. */
interface Process {
  escrow: LeasedFairEscrow
  machine: Machine
  store: DistantStore
}

/** Runs a fleet on one pool, and returns the admissions, window by window of the store's clock. */
export async function simulateFleet(scenario: FleetScenario): Promise<FleetResult> {
  const { seed, limit, windowMs, quantum, windows, processes } = scenario
  const { skewMs = 1_000, drift = 0.0005, crashes = 0, onStoreError = 'refuse', storeTimeoutMs = 50 } = scenario
  const random = seededRandom(seed)
  const { storeOf = (clock) => new MemoryPoolStore({ clock }), tree } = scenario
  const timeline = new Timeline()
  const site = new Site(timeline, storeOf)
  const fair: Weather = { roundTripMs: [1, 5], requestsLost: 0, answersLost: 0, late: 0, lateMs: windowMs / 50 }
  const weather = { ...fair, ...scenario.weather }
  const result: FleetResult = {
    windows: [],
    slowestMs: 0,
    local: 0,
    waitsMs: [],
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
  const weights = new Map(processes.flat().map(({ name, weight }) => [name, weight]))
  const weightOf = (tenant: string): number => weights.get(tenant)!
  const ask = ({ escrow, machine }: Process, tenant: FleetTenant): void => {
    const { name, cost, everyMs, active = [0, 1] } = tenant
    const again = (afterMs: number): void => machine.at(timeline.nowMs + afterMs, once)
    const once = (): void => {
      const part = (timeline.nowMs % windowMs) / windowMs
      if (part < active[0] || part >= active[1]) {
        again((((active[0] - part + 1) % 1) + 1e-6) * windowMs)
        return
      }
      const asked = typeof cost === 'number' ? cost : wholeFrom(random, cost)
      const askedMs = timeline.nowMs
      const answer = escrow.check(name, asked)
      if (answer instanceof Promise) result.waitsMs.push(askedMs)
      else result.local++
      void Promise.resolve(answer).then(({ allowed, reason, retryAfterMs }) => {
        // Decisions of a process that was killed meanwhile are lost.
        if (!machine.isAlive) return
        result.checks++
        result.slowestMs = Math.max(result.slowestMs, timeline.nowMs - askedMs)
        if (reason === 'store-error') result.storeErrors++
        if (allowed) {
          const window = windowNow()
          window.admitted += asked
          window.byTenant.set(name, (window.byTenant.get(name) ?? 0) + asked)
        }
        again(allowed ? everyMs * (0.5 + random()) : Math.min(retryAfterMs, windowMs))
      })
    }
    machine.at(timeline.nowMs + everyMs * random(), once)
  }
  const start = (place: number): Process => {
    const machine = new Machine(timeline, 1e6 + skewMs * random(), 1 + drift * (2 * random() - 1))
    const store = new DistantStore(site, timeline, machine, weather, random)
    const { clock, after } = machine
    const shared = {
      pool: 'fleet',
      limit,
      windowMs,
      quantum,
      store,
      random,
      onStoreError,
      storeTimeoutMs,
      ...(tree && { tree }),
    }
    const process = { escrow: new LeasedFairEscrow({ ...shared, weightOf, clock, after }), machine, store }
    for (const tenant of processes[place]!) ask(process, tenant)
    return process
  }
  const fleet = processes.map((_tenants, place) => start(place))
  const kill = (place: number): void => {
    fleet[place]!.machine.kill()
    fleet[place] = start(place)
    result.crashes++
  }

  if (scenario.away !== undefined) {
    const [fromMs, toMs] = scenario.away
    timeline.at(fromMs, () => {
      site.away = true
      for (const { escrow } of fleet) result.heldWhenAway += escrow.snapshot().held
    })
    timeline.at(toMs, () => {
      site.away = false
    })
  }
  const befall = (fault: Fault): void => {
    if (fault.kind === 'kill') kill(fault.place)
    else if (fault.kind === 'stop') {
      const { machine } = fleet[fault.place]!
      machine.stop()
      timeline.at(timeline.nowMs + fault.forMs, () => machine.goOn())
    } else {
      site.goBackTo(fault.agoMs === undefined ? undefined : timeline.nowMs - fault.agoMs)
      if (fault.kind === 'restart')
        for (const [place, { store }] of fleet.entries())
          store.breakFor(fault.reconnectMs[place % fault.reconnectMs.length]!)
    }
  }
  for (const fault of scenario.faults ?? []) timeline.at(fault.atMs, () => befall(fault))
  for (let window = 0; window < windows; window++) {
    for (const place of fleet.keys())
      if (random() < crashes) timeline.at((window + random()) * windowMs, () => kill(place))
    const before = site.calls
    await timeline.run((window + 1) * windowMs - 1e-6)
    windowNow().calls = site.calls - before
  }
  return result
}

function wholeFrom(random: Random, [least, most]: readonly [number, number]): number {
  return least + Math.floor(random() * (most - least + 1))
}
