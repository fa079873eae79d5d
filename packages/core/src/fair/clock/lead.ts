import type { Pace } from './pace.js'
import type { Phase } from './phase.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'

/** What is admitted is averaged over so many seconds and so many requests. */
const SECONDS = 0.25
const REQUESTS = 10
/** The longest look ahead, in seconds. */
const MOST_SECONDS = 2

/**
 * How much more or less there will be to spare by the time that refused flows come back, which is only when the clock
 * has caught up with them. Without looking ahead the clock would run on until they do, and then too many came at once.
 */
export class Lead {
  /** What comes in beyond what is admitted, until then; below 0 if less does. */
  cost = 0
  #admitted = 0

  /** Time passes, and so much is expected until a flow at the fair rate of `pace` returns. */
  advance({ seconds, probedPerSecond }: Step, { meanCost }: Traffic, { rate }: Pace, { refusedWeight }: Phase): void {
    const window = SECONDS + (REQUESTS * meanCost) / probedPerSecond
    this.#admitted *= Math.exp(-seconds / window)
    const returns = meanCost / (rate * refusedWeight)
    this.cost = Math.min(MOST_SECONDS, returns) * (probedPerSecond - this.#admitted / window)
  }

  admit(cost: number): void {
    this.#admitted += cost
  }

  /** Nothing is known of what is to come. */
  clear(): void {
    this.#admitted = 0
    this.cost = 0
  }
}
