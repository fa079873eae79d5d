import type { Admission } from './admission.js'
import { Sample } from './sample.js'

/** It goes on until so many failures are to be expected, or so many have come, but for no more seconds than this. */
const EXPECTED_FAILURES = 16
const MOST_FAILURES = 24
const MOST_SECONDS = 20
/** If there is none although so many were to be expected, no more need be seen. */
const TELLING_FAILURES = 6
/** As much is let in as this part of what was served. */
const PART = 0.85
/** It begins with a part that does not count, of so many times its length: the resource is as empty as it was. */
const SETTLING = 0.25

/**
 * Less is let in for a while, to see if failures become fewer.
 *
 * If requests fail because there is not enough, all is well as soon as no more comes in than was served before. If they
 * fail for another reason, the same part of them fails as before.
 */
export class Trial {
  underWay = false
  /** Part of the requests that failed before. */
  expectedShare = 0
  /** Requests per second that are let in. */
  perSecond: number = Number.POSITIVE_INFINITY
  beganAt = 0
  readonly sample: Sample = new Sample()
  #length = 0
  #firstSerial = 0
  #lastSerial = 0

  begin({ failureShare, admittedPerSecond }: Sample, { serial, at }: Admission): void {
    this.underWay = true
    this.expectedShare = failureShare
    this.perSecond = PART * (1 - failureShare) * admittedPerSecond
    this.beganAt = at
    this.#length = Math.ceil(EXPECTED_FAILURES / failureShare)
    this.#firstSerial = serial + 1 + Math.ceil(SETTLING * this.#length)
    this.#lastSerial = this.#firstSerial + this.#length
    this.sample.clear()
  }

  /** True while less is let in: until enough requests have been, or it takes too long. Then those must do. */
  limits({ serial, at }: Admission): boolean {
    if (!this.underWay || serial >= this.#lastSerial) return false
    if (at < this.beganAt + MOST_SECONDS) return true
    this.#lastSerial = Math.max(serial + 1, this.#firstSerial)
    this.#length = this.#lastSerial - this.#firstSerial
    return false
  }

  /** An outcome. True if nothing is to be learned from more of them. */
  hears(admission: Admission, failed: boolean): boolean {
    const { sample } = this
    const { serial } = admission
    if (serial >= this.#firstSerial && serial < this.#lastSerial) sample.add(admission, failed)
    // What is missing so long after it was overtaken will not come.
    const isOver = this.#isSure || sample.heard >= this.#length || serial >= this.#lastSerial + this.#length
    this.underWay = !isOver && (sample.failed > 0 || this.isUnclear)
    return !this.underWay
  }

  /** True if so few have failed, and were to be expected to until now, that it says nothing. */
  get isUnclear(): boolean {
    return !this.#isSure && this.sample.heard * this.expectedShare < TELLING_FAILURES
  }

  get #isSure(): boolean {
    return this.sample.failed >= MOST_FAILURES
  }
}
