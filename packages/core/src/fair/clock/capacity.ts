import {
  CHANCE,
  DELAYS,
  LATELY_REQUESTS,
  LEAST_DEPTH,
  LEAST_RATE,
  LEAST_SERVED,
  OUTCOMES,
  RATE_REQUESTS,
  RATE_SECONDS,
  SURE,
  TOLERATED,
} from './state.js'

/**
 * A run of a hundred requests and this many seconds, of which no more fails than by chance, shows the delivered rate by
 * itself: more than a resource stores, and more than a stall of the process releases at once. With runs of a second,
 * stalls of 100 ms kept the admitted rate above the capacity: quiet flows got .89 instead of .95.
 */
export const TELLING_SECONDS = 3
/** A run of this many times as many is trusted: then twice as much is tried, and more. */
const TRUSTED_RUNS = 3
/**
 * After a run that shows no more and ends in failures, trials take twice as long, up to this multiple. Each vain trial
 * empties the store, so that requests of lagging flows fail as well: if none got rarer, light flows in a population of
 * which they ask for nine tenths would lose .006 of their demand.
 */
const MOST_SPACING = 8
/** Rate of each process's growth while little fails, so that those that serve little catch up. */
const GROWTH_PER_SECOND = 0.003
/** Without a proof at full admission the rate falls to no less than this part of what the last one showed. */
const MOST_WAY = 0.8
/** This part of the delivered rate is served again, regardless of failures. */
export const LEAST_DELIVERED = 0.95
/** Failures are compensated until this many times as much is admitted: more would hardly serve more. */
export const MOST_TRIED = 1.5
/**
 * A proof at full admission is trusted for this time. A test, and finding the fair rate again, takes some ten seconds:
 * with 180 s, quiet flows of an overload lost .004 of their demand.
 */
const TRUST_SECONDS = 600
/** For as many turns, if less than this part of what was served lately is left: a capacity that fell may return. */
const FALLEN_TURNS = 30
const FALLEN = 2 / 3
/** The rate served lately: in the mean of this time, the most of about this time. */
const MEAN_SECONDS = 30
const MOST_AGE_SECONDS = 3_600
/** A resource may pause for as long: a younger trouble proves nothing. */
const PAUSE_SECONDS = 1

/**
 * The rate that a resource was seen to deliver, in cost per second. It rises with the delivered rate, and falls only
 * after proof that less is free: below 80 % of the rate delivered at full admission only by a proof at full admission.
 */
export class Delivery {
  /** 0 before the first shortage. */
  perSecond = 0
  /** The rate shown by the last proof at full admission. */
  shown = 0
  /** The same without the store's contribution and random variation: a sole user continues with this rate. */
  #lasting = 0
  /** Start of the trouble, and the cost served since then. Failures had shown that the store was empty. */
  #troubleAt = 0
  #servedSince = 0
  /** The run: its start, the cost served in it, and its significant requests, less those that a failure cancels. */
  #runAt = 0
  #served = 0
  #run = 0
  /** The rate before it, and whether it was long enough to show more, and did not. */
  #before = 0
  #isVain = false
  /** Trials take this many times as long. */
  #spacing = 1

  /** A request was served; `tells`: it is significant, because the resource could have been short. */
  serves(cost: number, tells: boolean): void {
    this.#served += cost
    this.#servedSince += cost
    if (tells) this.#run++
  }

  /** Trouble begins. */
  begins(now: number): void {
    this.#troubleAt = now
    this.#servedSince = 0
  }

  /** Cost served per second since the trouble began; 0 while that may be a pause of the resource. */
  sincePerSecond(now: number): number {
    const seconds = now - this.#troubleAt
    return seconds < PAUSE_SECONDS ? 0 : this.#servedSince / seconds
  }

  /** Nothing is known of the past, or more failed than by chance: a run begins. */
  runs(now: number): void {
    this.#runAt = now
    this.#served = this.#run = 0
    this.#before = this.perSecond
    this.#isVain = false
  }

  /**
   * A request failed. Few failures by chance do not end a run: of thousands of requests a second some always fail, and
   * no run would last.
   */
  fails(now: number): void {
    this.#run -= 1 / CHANCE
    if (this.#run > 0) return
    if (this.#isVain) this.#spacing = Math.min(MOST_SPACING, 2 * this.#spacing)
    this.runs(now)
  }

  /** Takes more while little fails. */
  grow(seconds: number, refusedPerSecond: number): void {
    this.perSecond += GROWTH_PER_SECOND * Math.sqrt(refusedPerSecond * this.perSecond) * seconds
  }

  /** The rate shown by a run counts at once; after a longer one more is tried. Returns the amount. */
  tried(now: number, probe: number, delay: number): number {
    const seconds = now - this.#runAt
    if (this.#run >= LATELY_REQUESTS && seconds > TELLING_SECONDS) {
      this.perSecond = Math.max(this.perSecond, this.#served / seconds)
      this.#isVain = this.perSecond <= (1 + probe) * this.#before
      if (!this.#isVain) this.#spacing = 1
    }
    // Where outcomes are late, too much would have been admitted for as long before a failure shows it.
    const telling = Math.max(TELLING_SECONDS, DELAYS * delay)
    const trust = Math.min(this.#run / LATELY_REQUESTS, seconds / telling) / TRUSTED_RUNS / this.#spacing
    return this.perSecond * (1 + probe / this.#spacing + trust * trust)
  }

  /** Refusing was shown to be free, down to `delivered`. `full`: at full admission, which delivered `before`. */
  shows(delivered: number, full: boolean, before: number, now: number, keepsAll: boolean): void {
    if (full) {
      this.shown = delivered
      this.#lasting = Math.min(before, this.sincePerSecond(now))
    }
    this.perSecond = Math.max(delivered, this.#least(keepsAll))
    this.#spacing = 1
  }

  /**
   * A test of the last proof at full admission ends, which began like a trouble. The proof holds unless clearly more
   * was served, and not taken from others.
   */
  holds(now: number, meanCost: number, isTaken: boolean): boolean {
    const expected = this.perSecond * (now - this.#troubleAt)
    return isTaken || this.#servedSince <= expected + SURE * Math.sqrt(expected * meanCost)
  }

  /** More than usual fails, by `beyond`: others need more, if there are any. */
  giveWay(beyond: number, keepsAll: boolean): void {
    this.perSecond = Math.max(
      Math.min(this.perSecond, this.#least(keepsAll)),
      this.perSecond * (1 - (1 - MOST_WAY) * beyond),
    )
  }

  /** True while clearly less is admitted than was shown. */
  get gaveMuch(): boolean {
    return this.perSecond < LEAST_DELIVERED * this.shown
  }

  /** Without a proof at full admission it falls no lower. `keepsAll`: nobody would use what is given up. */
  #least(keepsAll: boolean): number {
    return Math.max(keepsAll ? this.#lasting : 0, MOST_WAY * this.shown)
  }
}

/** Longest time over which rates are averaged, with any number of requests. */
const MOST_RATE_SECONDS = 30
/** The clock's progress and refusals are averaged over these. */
const LATELY_SECONDS = 5

/** Recent admitted, served and refused cost per second, and the failed share. Times in seconds. */
export class Traffic {
  /** Share of the latest outcomes that were failures, except flows' own ones. */
  failureShare = 0
  /** Mean time until an outcome. */
  delay = 0
  /** Decaying sums of admitted and served cost, and of their time. */
  #admitted = 0
  #served = 0
  #ended = 0
  #seconds = 0
  /** The same over some seconds: progress of the clock, and refused cost. */
  #moved = 0
  #refused = 0
  #movedSeconds = 1e-9
  #outcomes = 0
  /** Decaying sum of the cost that was seen to be served, and the most of it lately. */
  #recent = 0
  #most = 0

  /** `elapsed` seconds pass. */
  advance(elapsed: number, meanCost: number): void {
    this.#most = Math.max(this.#most * (1 - elapsed / MOST_AGE_SECONDS), this.#recent)
    this.#recent *= Math.max(0, 1 - elapsed / MEAN_SECONDS)
    const requestsSeconds = meanCost / Math.max(this.servedPerSecond, LEAST_RATE * meanCost)
    const fade = Math.min(MOST_RATE_SECONDS, Math.max(RATE_SECONDS, RATE_REQUESTS * requestsSeconds))
    const kept = Math.exp(-elapsed / fade)
    this.#admitted *= kept
    this.#served *= kept
    this.#ended *= kept
    this.#seconds = this.#seconds * kept + fade * (1 - kept)
    const keptLately = Math.exp(-elapsed / LATELY_SECONDS)
    this.#moved *= keptLately
    this.#refused *= keptLately
    this.#movedSeconds = this.#movedSeconds * keptLately + LATELY_SECONDS * (1 - keptLately)
  }

  /** A request is admitted; below 0: one was, and did not run. */
  admits(cost: number): void {
    this.#admitted = Math.max(0, this.#admitted + cost)
  }

  refuses(cost: number): void {
    this.#refused += cost
  }

  serves(cost: number): void {
    this.#served += cost
  }

  /** The clock advances. */
  moves(by: number): void {
    this.#moved += by
  }

  /** A request ended, `seconds` after its admission. */
  ends(failed: boolean, seconds: number, cost: number): void {
    this.#outcomes++
    this.#ended += cost
    if (!failed) this.#recent += cost
    this.failureShare += ((failed ? 1 : 0) - this.failureShare) / OUTCOMES
    this.delay += (seconds - this.delay) / Math.min(OUTCOMES, this.#outcomes)
  }

  get servedPerSecond(): number {
    return this.#served / Math.max(0.1 * RATE_SECONDS, this.#seconds)
  }

  /** Served part of recent outcomes; 1 while there are none. */
  get servedShare(): number {
    return this.#ended > this.#served ? this.#served / this.#ended : 1
  }

  get admittedPerSecond(): number {
    return this.#admitted / Math.max(0.1 * RATE_SECONDS, this.#seconds)
  }

  get refusedPerSecond(): number {
    return this.#refused / LATELY_SECONDS
  }

  get movedPerSecond(): number {
    return this.#moved / this.#movedSeconds
  }

  /** True if a proof of this age that `perSecond` is delivered is old, much is refused, and this is no outage. */
  doubts(age: number, perSecond: number, admittedPerSecond: number, turnSeconds: number): boolean {
    const hasFallen = perSecond * MEAN_SECONDS < FALLEN * this.#most
    const isOld = age > (hasFallen ? Math.min(TRUST_SECONDS, FALLEN_TURNS * turnSeconds) : TRUST_SECONDS)
    return isOld && this.servedShare >= LEAST_SERVED && this.refusedPerSecond > LEAST_DEPTH * admittedPerSecond
  }

  /** The share of failures beyond `usual`, if it exceeds the tolerated share; otherwise 0. */
  beyond(usual: number): number {
    const beyond = this.failureShare - usual
    return beyond > TOLERATED ? beyond : 0
  }
}
