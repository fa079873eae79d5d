import { blue, type FairRuleName, FairTracker } from '@fairlead/core'
import { draws } from './luck.js'

/** How an admitted request ended, and what it cost. */
export type Report = (outcome: 'success' | 'failure', cost: number) => void

/** What decides in one process. */
export interface Controller {
  /** Where to report the outcome; or, for a refusal, the milliseconds after which to come again. */
  admit(flow: string, cost: number): Report | number
  /** What it believes, in a word. */
  state?(): string
}

/** Makes the controller of a process: by its seed, its clock in milliseconds, and what flows weigh. */
export type Rule = (seed: number, clock: () => number, weightOf: (flow: string) => number) => Controller

const nothing: Report = () => {}

/** The rules that are compared. `placebo` refuses one request in a thousand by chance: its harm is the noise. */
export const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['none', () => ({ admit: () => nothing })],
  [
    'placebo',
    (seed) => {
      const { chance } = draws(seed)
      return { admit: () => (chance(0.001) ? 1000 : nothing) }
    },
  ],
  [
    'fair-clock',
    (seed, clock, weightOf) => {
      const tracker = new FairTracker({ rule: 'fair-clock', clock, random: draws(seed).next, weightOf })
      return {
        ...tracked(tracker),
        state: () => {
          const { engaged, capacityPerSecond, backgroundFailureShare } = tracker.snapshot()
          const capacity = capacityPerSecond?.toPrecision(3) ?? '-'
          return `${engaged ? 'engaged' : 'open'}/${capacity}/${backgroundFailureShare.toFixed(2)}`
        },
      }
    },
  ],
  ['blue', (seed, clock) => tracked(new FairTracker({ ...blue(), clock, random: draws(seed).next }))],
])

function tracked<R extends FairRuleName>(tracker: FairTracker<R>): Controller {
  return {
    admit: (flow, cost) => {
      const key = tracker.key(flow)
      if (!tracker.register(key, undefined, cost)) return tracker.refusal(key).retryAfterMs
      return (outcome, settled) => tracker.report(key, outcome, undefined, settled)
    },
  }
}
