import type { Step } from './step.js'

/** A rate counts as over at least so many seconds. */
const LEAST_SECONDS = 0.02

/** How much there was of something per second: what was long ago fades. */
export class FadingRate {
  /** How much there was lately. */
  sum = 0
  #seconds = 0
  readonly #window: number

  /** An average over about `window` seconds. */
  constructor(window: number) {
    this.#window = window
  }

  advance({ seconds }: Pick<Step, 'seconds'>): void {
    const kept = Math.exp(-seconds / this.#window)
    this.sum *= kept
    this.#seconds = this.#seconds * kept + this.#window * (1 - kept)
  }

  add(amount: number): void {
    this.sum += amount
  }

  /** The same, if there was nothing before it began. */
  get leastPerSecond(): number {
    return this.sum / this.#window
  }

  get perSecond(): number {
    return this.sum / Math.max(LEAST_SECONDS, this.#seconds)
  }
}
