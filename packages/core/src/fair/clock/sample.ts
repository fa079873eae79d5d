import type { Admission } from './admission.js'

/** A rate counts as over at least so many seconds. */
const LEAST_SECONDS = 0.02

/** Outcomes of requests that were admitted one after another, but for some. */
export class Sample {
  heard = 0
  failed = 0
  #firstSerial = 0
  #firstAt = 0
  #lastSerial = 0
  #lastAt = 0

  add({ serial, at }: Admission, failed: boolean): void {
    if (this.heard === 0 || serial < this.#firstSerial) {
      this.#firstSerial = serial
      this.#firstAt = at
    }
    if (this.heard === 0 || serial > this.#lastSerial) {
      this.#lastSerial = serial
      this.#lastAt = at
    }
    this.heard++
    if (failed) this.failed++
  }

  clear(): void {
    this.heard = 0
    this.failed = 0
  }

  /** Of those heard of, the part that failed. */
  get failureShare(): number {
    return this.heard > 0 ? this.failed / this.heard : 0
  }

  /** How many were admitted per second, heard of or not. */
  get admittedPerSecond(): number {
    return (this.#lastSerial - this.#firstSerial) / Math.max(LEAST_SECONDS, this.#lastAt - this.#firstAt)
  }
}
