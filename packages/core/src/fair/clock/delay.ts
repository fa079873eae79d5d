/** The average is over so many failures. */
const FAILURES = 20

/** How late failures are heard of: until then too much is let in, and nobody knows. */
export class Delay {
  /** Seconds from the admission of a request to the news of its failure. */
  seconds = 0
  #failures = 0

  observe(seconds: number): void {
    if (this.#failures < FAILURES) this.#failures++
    this.seconds += (seconds - this.seconds) / this.#failures
  }
}
