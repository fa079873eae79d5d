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
  #admitted = 0
  #window = SECONDS

  /** `seconds` pass, in which `perSecond` could be served. */
  advance(seconds: number, perSecond: number, meanCost: number): void {
    this.#window = SECONDS + (REQUESTS * meanCost) / perSecond
    this.#admitted *= Math.exp(-seconds / this.#window)
  }

  admit(cost: number): void {
    this.#admitted += cost
  }

  /** A shortage begins: nothing is known of it. */
  begin(): void {
    this.#admitted = 0
  }

  /** What comes in beyond what is admitted, until a flow at the fair rate returns. */
  ahead(perSecond: number, fairRate: number): number {
    return Math.min(MOST_SECONDS, 1 / fairRate) * (perSecond - this.#admitted / this.#window)
  }
}
