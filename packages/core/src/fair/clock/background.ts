import type { Admission } from './admission.js'
import type { Capacity } from './capacity.js'
import { Sample } from './sample.js'
import type { Traffic } from './traffic.js'
import { Trial } from './trial.js'

/** What looks as if it had another reason: at least so many failures, that are such a part of all outcomes. */
const SUSPECT_FAILURES = 20
const LEAST_SHARE = 0.03
const MOST_SHARE = 0.8
/**
 * And the capacity seems to be less than this part of what it was, or of what was served before the shortage: failures
 * by which it is but measured leave it as it is. What is made of the first so many outcomes does not count.
 */
const FALLEN = 0.75
const MEASURED_OUTCOMES = 100
/** When it grows, so many times what it was, things are on the mend, and what was seen before does not count. */
const GROWING = 1.5

/** Failures became fewer, if no more than this part of those expected came. */
const RELIEF = 0.4
/** They became more, if so many times as many came: then something changes, and it is tried again. */
const WORSE = 1.5
/** Where nearly all fail the resource is gone: then failures do not depend on what is let in, either. */
const GONE = 0.9
/** The next trial comes after so many times as long as the last one took, and no more seconds than this. */
const REST = 20
const MOST_REST_SECONDS = 60

/** The share fades over about so many outcomes, when there are fewer failures. */
const OUTCOMES = 200
/** How many are put up with: so many times the share, and this part of all; of those that did not come, so many. */
const SLACK = 1.3
const SLACK_SHARE = 0.01
const STORE = 8
/** Below this share there are none. */
const NONE = 0.0075

/**
 * Failures that have nothing to do with load: of a replica that is down, or a partner's service.
 *
 * There are as many of them however little is let in. So whoever takes them for a shortage lets in less and less, and
 * in the end next to nothing. When the capacity seems to fall, a trial tells: less is let in for a moment, and if that
 * does not make failures fewer, they are put up with from then on, as many as there were. Trials go on, now and then,
 * until they are gone.
 */
export class Background {
  /** Share of outcomes that are such failures, as far as is known. */
  share = 0
  readonly #trial = new Trial()
  readonly #sample = new Sample()
  /** What the last trials found, and what is seen since. */
  #found = 0
  #seen = 0
  /** Failures that may be put up with at once. */
  #store = 0
  #highest = 0
  #lowest = 0
  #outcomes = 0
  #restUntil = 0

  /** A shortage begins. */
  begin({ surelyServedPerSecond }: Traffic): void {
    this.#highest = Math.max(this.#highest, surelyServedPerSecond)
  }

  /** True while less is let in than could be, for a trial. */
  limits(latest: Admission): boolean {
    return this.#trial.limits(latest)
  }

  /** Requests per second that are let in then. */
  get mostPerSecond(): number {
    return this.#trial.perSecond
  }

  /** True if it is time for another trial, which there can only be in a shortage. */
  isDue({ at }: Admission): boolean {
    return this.share > 0 && !this.#trial.underWay && at >= this.#restUntil
  }

  /** An outcome of a request; `short` if there is a shortage. */
  report(admission: Admission, failed: boolean, latest: Admission, short: boolean, capacity: Capacity): void {
    if (this.share > 0) this.#fade(failed)
    if (this.#trial.underWay) {
      if (this.#trial.hears(admission, failed)) this.#conclude(latest, capacity)
    } else if (short) this.#watch(admission, failed, latest, capacity)
    else {
      this.#sample.clear()
      this.#outcomes = 0
    }
  }

  /** True if a failure is put up with: it says nothing about the resource. Not while less is let in for a trial. */
  absorbs(latest: Admission): boolean {
    if (this.share === 0 || this.#store < 1 || this.limits(latest)) return false
    this.#store--
    return true
  }

  #watch(admission: Admission, failed: boolean, latest: Admission, { perSecond }: Capacity): void {
    if (this.#outcomes < MEASURED_OUTCOMES) this.#outcomes++
    else if (perSecond > this.#highest) this.#highest = perSecond
    const sample = this.#sample
    if (sample.heard === 0 || perSecond < this.#lowest) this.#lowest = perSecond
    if (perSecond > GROWING * this.#lowest) {
      sample.clear()
      return
    }
    sample.add(admission, failed)
    if (sample.failed >= SUSPECT_FAILURES) {
      const { failureShare } = sample
      const isSuspect = failureShare >= LEAST_SHARE && failureShare <= MOST_SHARE
      if ((isSuspect && perSecond < FALLEN * this.#highest) || this.isDue(latest)) this.#trial.begin(sample, latest)
      sample.clear()
    } else if (sample.heard > SUSPECT_FAILURES / LEAST_SHARE) sample.clear()
  }

  /** The trial is over. */
  #conclude(latest: Admission, { perSecond }: Capacity): void {
    const { sample, expectedShare, beganAt, isUnclear } = this.#trial
    const { failureShare } = sample
    if (isUnclear) return
    if (failureShare > WORSE * expectedShare && failureShare < GONE) {
      this.#trial.begin(sample, latest)
      return
    }
    if (failureShare < RELIEF * expectedShare) this.#found = this.share > 0 ? failureShare : 0
    else if (failureShare < GONE) this.#found = ((this.#found || expectedShare) + failureShare) / 2
    if (this.share === 0) this.#seen = this.#found
    this.share = Math.min(this.#seen, this.#found)
    this.#store = STORE
    this.#highest = perSecond
    this.#restUntil = latest.at + Math.min(MOST_REST_SECONDS, REST * (latest.at - beganAt))
  }

  #fade(failed: boolean): void {
    this.#seen += (Number(failed) - this.#seen) / OUTCOMES
    this.share = Math.min(this.#seen, this.#found)
    if (this.share < NONE) {
      this.share = 0
      this.#found = 0
    }
    this.#store = Math.min(STORE, this.#store + SLACK * this.share + SLACK_SHARE)
  }
}
