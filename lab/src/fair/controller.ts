import { blue, FairTracker, type FlowKey } from '@fairlead/core'
import { type ManualClock, seededRandom } from '@fairlead/core/testing'
import type { Arrivals } from './arrivals.js'

/** Admits or refuses requests. */
export interface Controller {
  /** Called for the `request`-th request: false refuses it. */
  admit(request: number): boolean
  /** Reports the outcome of an admitted request. */
  report(request: number, succeeded: boolean): void
}

/** Makes a controller for a run. It reads the time from the clock, in milliseconds. */
export type MakeController = (arrivals: Arrivals, clock: ManualClock, seed: number) => Controller

/** Admits every request. */
export const noControl: MakeController = () => ({ admit: () => true, report: () => {} })

/** The published rule with its defaults, as shipped. It knows neither costs nor weights. */
export const publishedRule: MakeController = (arrivals, clock, seed) =>
  controlBy(new FairTracker({ ...blue(), clock, random: seededRandom(seed) }), arrivals)

/** The fair clock with its defaults, as shipped. */
export const fairClock: MakeController = (arrivals, clock, seed) =>
  controlBy(clockTracker(arrivals, clock, seed), arrivals)

/** The tracker of {@link fairClock}, for inspection. */
export function clockTracker({ flows }: Arrivals, clock: ManualClock, seed: number): FairTracker<'fair-clock'> {
  return new FairTracker({
    rule: 'fair-clock',
    clock,
    random: seededRandom(seed),
    // A flow under its own name has the weight of its index; new names have the default weight.
    ...(flows.some(({ weight }) => weight !== 1) && { weightOf: (name) => flows[Number(name)]?.weight ?? 1 }),
  })
}

/** Asks a tracker, with a key for each request, as a gate does. */
export function controlBy(
  tracker: Pick<FairTracker, 'key' | 'register' | 'report'>,
  { name, cost }: Arrivals,
): Controller {
  const underway = new Map<number, FlowKey>()
  return {
    admit(request) {
      const key = tracker.key(String(name[request]!))
      const admitted = tracker.register(key, undefined, cost[request]!)
      if (admitted) underway.set(request, key)
      return admitted
    },
    report(request, succeeded) {
      const key = underway.get(request)!
      underway.delete(request)
      tracker.report(key, succeeded ? 'success' : 'failure', undefined, cost[request]!)
    },
  }
}
