import type { Admission } from './admission.js'

/**
 * What happened since the last failure. When a request fails the resource is empty, so what was served of the requests
 * between two that failed, by the time between these, is its capacity; and the longer a run without one, the more may
 * be probed for.
 *
 * All by when requests were admitted, not by when outcomes come: then it does not matter how late these are, in which
 * order they come, or how long it takes to serve a request. What is not known to have failed counts as served.
 */
export class CleanRun {
  /** Successes heard of while the resource was not known to be full: only those say something about its capacity. */
  telling = 0
  /** How long it goes on. */
  seconds = 0
  /** Cost served, and in how many seconds, of what has not been measured yet. */
  served = 0
  servedSeconds = 0
  #beganSerial = 0
  #beganAt = 0
  #measuredAt = 0
  #measuredTotal = 0
  #at = 0
  #total = 0

  /** True if the request was admitted since the one whose failure began the run. */
  has({ serial }: Admission): boolean {
    return serial > this.#beganSerial
  }

  /** It goes on: nothing is known to have failed of what has been admitted so far. */
  reach({ at, total }: Admission): void {
    this.#at = at
    this.#total = total
    this.#fit()
  }

  /** It was over, as turns out now, with a request that failed, whose cost was not served. */
  endWith({ at, total }: Admission, cost: number): void {
    this.#at = Math.max(at, this.#measuredAt)
    this.#total = Math.max(total - cost, this.#measuredTotal)
    this.#fit()
  }

  /** So much of what was admitted was not served. */
  lessen(cost: number): void {
    this.#measuredTotal += cost
    this.#fit()
  }

  /** What was served so far has been measured. */
  measured(): void {
    this.#measuredAt = this.#at
    this.#measuredTotal = this.#total
    this.#fit()
  }

  /** Begins with the failure of a request. */
  begin(failed: Admission): void {
    this.#beganSerial = failed.serial
    this.#beganAt = failed.at
    this.telling = 0
    this.reach(failed)
    this.measured()
  }

  #fit(): void {
    this.seconds = this.#at - this.#beganAt
    this.served = this.#total - this.#measuredTotal
    this.servedSeconds = this.#at - this.#measuredAt
  }
}
