import type { Outcome, Random } from '@fairlead/core'
import type { Capacity } from '@fairlead/core/queue'
import { seededRandom } from '@fairlead/core/testing'
import { type Job, type Machine, Service } from './service.js'

/** A stretch of time with constant conditions. */
export interface Stretch {
  forMs: number
  machine: Machine
  /** Requests that arrive per second, at random times; Infinity: a request always waits. @default Infinity */
  perSecond?: number
  /** Number of simultaneous arrivals. @default 1 */
  together?: number
  /** Share of the requests that the machine refuses immediately, with the outcome `failure`. @default 0 */
  failing?: number
}

export interface Scenario {
  seed: number
  stretches: readonly Stretch[]
  /** Requests that may wait; more are lost. @default 1000 */
  maxWaiting?: number
  /** Time after which a waiting request leaves, unless a request always waits. @default for ever */
  patienceMs?: number
}

/** Measurements of a second. */
export interface Second {
  /** Requests that succeeded. */
  served: number
  /** Mean limit, weighted by time. */
  limit: number
  /** Least and largest limit. */
  least: number
  largest: number
  /** Requests that had to wait when they arrived; not counted while a request always waits. */
  waited: number
}

/** Duration of a request that the machine refuses, or that needs no work. */
const QUICK_MS = 1

/** Runs requests through `capacity`, exponential in their work, and returns the measurements, second by second. */
export function simulate(capacity: Capacity, scenario: Scenario): Second[] {
  const { seed, stretches, maxWaiting = 1_000, patienceMs = Number.POSITIVE_INFINITY } = scenario
  const works = seededRandom(seed)
  const arrivals = seededRandom(seed + 0.5)
  const service = new Service(stretches[0]!.machine)
  const seconds: Second[] = []
  let nowMs = 0
  /**
   * Arrival times of the waiting requests, the longest wait first; with a request always waiting, one entry stands for
   * all.
   */
  const line: number[] = []
  let endless = false
  let failing = 0

  const start = (): boolean => {
    if (!capacity.tryTake(1, nowMs)) return false
    service.start(drawJob(works, service.machine, failing, nowMs))
    return true
  }
  const drain = (): void => {
    while (line.length > 0 && nowMs - line[0]! > patienceMs) line.shift()
    while ((endless || line.length > 0) && start()) line.shift()
  }
  capacity.onAvailable(drain)
  const second = (): Second => {
    const index = Math.floor(nowMs / 1_000)
    while (seconds.length <= index) {
      const limit = capacity.limit
      seconds.push({ served: 0, limit: 0, least: limit, largest: limit, waited: 0 })
    }
    return seconds[index]!
  }
  const moveTo = (toMs: number): void => {
    while (nowMs < toMs) {
      const part = second()
      const untilMs = Math.min(toMs, (Math.floor(nowMs / 1_000) + 1) * 1_000)
      part.limit += (capacity.limit * (untilMs - nowMs)) / 1_000
      nowMs = untilMs
    }
  }

  let untilMs = 0
  for (const stretch of stretches) {
    service.change(stretch.machine)
    const { perSecond = Number.POSITIVE_INFINITY, together = 1 } = stretch
    failing = stretch.failing ?? 0
    untilMs += stretch.forMs
    if (endless) line.push(...Array.from({ length: maxWaiting }, () => nowMs))
    endless = perSecond === Number.POSITIVE_INFINITY
    if (endless) line.length = 0
    drain()
    const betweenMs = (1_000 * together) / perSecond
    const nextArrival = (): number =>
      endless ? Number.POSITIVE_INFINITY : nowMs + (together > 1 ? betweenMs : exponential(arrivals, betweenMs))
    let arrivalMs = nextArrival()
    for (;;) {
      const nextMs = Math.max(nowMs, Math.min(arrivalMs, service.nextMs))
      if (nextMs >= untilMs) break
      moveTo(nextMs)
      const job = service.advance(nextMs)
      if (job) {
        const outcome: Outcome = job.givenUp ? 'ignored' : job.failed ? 'failure' : 'success'
        const part = second()
        if (outcome === 'success') part.served++
        capacity.release(1, outcome, nowMs - job.startedMs, nowMs)
        part.least = Math.min(part.least, capacity.limit)
        part.largest = Math.max(part.largest, capacity.limit)
      }
      if (arrivalMs <= nowMs) {
        arrivalMs = nextArrival()
        for (let i = 0; i < together; i++) {
          drain()
          if (line.length === 0 && start()) continue
          second().waited++
          if (line.length < maxWaiting) line.push(nowMs)
        }
      }
    }
    moveTo(untilMs)
    service.pass(untilMs)
  }
  return seconds
}

function drawJob(random: Random, machine: Machine, failing: number, nowMs: number): Job {
  const quick = (failed: boolean): Job => ({ startedMs: nowMs, workMs: 0, elsewhereMs: QUICK_MS, failed })
  if (failing > 0 && random() < failing) return quick(true)
  const { workMs, elsewhereMs = 0, slowShare = 0, slowWorkMs = 0, quickShare = 0, spread } = machine
  if (quickShare > 0 && random() < quickShare) return quick(false)
  const slow = slowShare > 0 && random() < slowShare ? slowWorkMs : 0
  const meanMs = workMs + slow
  const drawnMs = spread === 'none' ? meanMs : exponential(random, meanMs)
  return {
    startedMs: nowMs,
    workMs: drawnMs,
    elsewhereMs: typeof elsewhereMs === 'function' ? elsewhereMs(random, nowMs) : elsewhereMs,
    failed: false,
  }
}

/** A draw from the exponential distribution with this mean. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random())
}
