import { blue, type FairRuleName, FairTracker } from '@fairlead/core'
import { draws } from './luck.js'
import { capacityBetween } from './population.js'
import type { Resource } from './world.js'

/** Reports the outcome of an admitted request, and its cost. */
export type Report = (outcome: 'success' | 'failure', cost: number) => void

/** The decisions of one process. */
export interface Controller {
  /** The function that reports the outcome; or, for a refusal, the retry delay in milliseconds. */
  admit(flow: string, cost: number): Report | number
  /** Its state, in a word. */
  state?(): string
}

/** Only for an oracle: the resource, and the true time in seconds. One for each run. */
export interface Truth {
  readonly resource: Resource
  now(): number
}

/**
 * Creates the controller of a process: from its seed, its clock in milliseconds, the weights of flows, and the truth.
 */
export type Rule = (seed: number, clock: () => number, weightOf: (flow: string) => number, truth: Truth) => Controller

const nothing: Report = () => {}

/** Cost that the resource of a run can serve at once and that has not been admitted, by its capacity. */
class Store {
  readonly #truth: Truth
  readonly #most: number
  #level: number
  #at = 0

  constructor(truth: Truth) {
    const { resource } = truth
    this.#truth = truth
    this.#most = resource.kind === 'pool' ? resource.workers + resource.line : resource.burst
    this.#level = this.#most
  }

  take(cost: number): boolean {
    const now = this.#truth.now()
    this.#level = Math.min(this.#most, this.#level + capacityBetween(this.#truth.resource, this.#at, now))
    this.#at = now
    const isEnough = this.#level >= cost
    if (isEnough) this.#level -= cost
    return isEnough
  }
}

/** All processes of a run draw from one store. */
const stores = new WeakMap<Truth, Store>()

/**
 * The compared rules. `placebo` refuses one request in a thousand at random: its harm is the noise. `oracle` knows the
 * capacity, and admits exactly that, for any flow: no rule could prevent the remaining failures.
 */
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
    'oracle',
    (_seed, _clock, _weightOf, truth) => {
      const store = stores.get(truth) ?? new Store(truth)
      stores.set(truth, store)
      return { admit: (_flow, cost) => (store.take(cost) ? nothing : 1000) }
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
