import { FairTracker } from '@fairlead/core'
import { type ManualClock, seededRandom } from '@fairlead/core/testing'
import type { Arrivals } from './arrivals.js'

/** Whoever lets requests in or refuses them. */
export interface Controller {
  /** The `request`-th request comes: false refuses it. */
  admit(request: number): boolean
  /** How a request that was let in ended. */
  report(request: number, succeeded: boolean): void
}

/** Makes a controller for a run. It reads the time from the clock, in milliseconds. */
export type MakeController = (arrivals: Arrivals, clock: ManualClock, seed: number) => Controller

/** Lets everybody in. */
export const noControl: MakeController = () => ({ admit: () => true, report: () => {} })

/** The published rule with its defaults. It knows neither costs nor weights. */
export const publishedFair: MakeController = ({ name, names }, clock, seed) => {
  const tracker = new FairTracker({ clock, random: seededRandom(seed) })
  const keys = namesOf(names)
  return {
    admit: (request) => tracker.register(keys[name[request]!]!),
    report: (request, succeeded) => tracker.report(keys[name[request]!]!, succeeded ? 'success' : 'failure'),
  }
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `flow-${i}`)
}
