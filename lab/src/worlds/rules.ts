import { blue, type FairRuleName, FairTracker } from '@fairlead/core'
import { draws } from './luck.js'
import { capacityBetween } from './population.js'
import type { Resource } from './world.js'

/** How an admitted request ended, and what it cost. */
export type Report = (outcome: 'success' | 'failure', cost: number) => void

/** What decides in one process. */
export interface Controller {
  /** Where to report the outcome; or, for a refusal, the milliseconds after which to come again. */
  admit(flow: string, cost: number): Report | number
  /** What it believes, in a word. */
  state?(): string
}

/** What nobody but an oracle is told: the resource, and the true time in seconds. One for each run. */
export interface Truth {
  readonly resource: Resource
  now(): number
}

/** Makes the controller of a process: by its seed, its clock in milliseconds, what flows weigh, and what is true. */
export type Rule = (seed: number, clock: () => number, weightOf: (flow: string) => number, truth: Truth) => Controller

const nothing: Report = () => {}

/** What the resource of a run can serve at once and has not been asked for, as far as its capacity tells. */
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

/** All processes of a run let in from one store. */
const stores = new WeakMap<Truth, Store>()

/**
 * The rules that are compared. `placebo` refuses one request in a thousand by chance: its harm is the noise. `oracle` is
 * told what the resource can serve, and lets in just that, whoever asks: what fails all the same no rule could prevent.
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
