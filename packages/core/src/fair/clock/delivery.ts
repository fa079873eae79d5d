import { LATELY_REQUESTS } from './evidence.js'

/**
 * A run without failure of a hundred requests and this many seconds shows by itself what is delivered: more than a store of the
 * resource does, and more than a stall of the process brings at once. With runs of a second, stalls of 100 ms kept what is
 * let in above what the resource can do: quiet flows got .89 instead of .95.
 */
export const TELLING_SECONDS = 3
/** A run of this many times as many is trusted: then twice as much is tried, and more. */
const TRUSTED_RUNS = 3
/** Among several processes: how fast each takes more while little fails, and gives way, per turn, while more does. */
const GROWTH_PER_SECOND = 0.003
const WAY_PER_TURN = 0.2
export const MOST_WAY = 0.8
/** For so long a process that has fallen silent may go on unheard: then this part of what it had fails in addition. */
const UNHEARD_SECONDS = 5
const UNHEARD_FAILS = 0.5

/**
 * What a resource was seen to deliver, in cost per second. It rises with what is delivered, and falls only when that was
 * shown to be free: below 80 % of what full admission delivered only by a proof at full admission.
 */
export class Delivery {
  /** 0 until a shortage was seen. */
  perSecond = 0
  /** What the last proof at full admission showed. */
  #shown = 0
  /** The same without what a store gave and what luck added: a sole user goes on with so much. */
  #lasting = 0
  /** When trouble began, and the cost served since then. Failures had shown that nothing was left in store. */
  #troubleAt = 0
  #servedSince = 0
  /** The part of processes that may go on unheard, and since when. */
  #unheard = 0
  #unheardAt = 0
  /** The run since the last failure: when it began, cost served in it, requests that tell something. */
  #runAt = 0
  #served = 0
  #run = 0

  /** A request was served; `tells`: the resource could have been short. */
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

  /** A request failed, or nothing is known of what was: a run begins. */
  runs(now: number): void {
    this.#runAt = now
    this.#served = this.#run = 0
  }

  /** More is taken while little fails. */
  grow(seconds: number, refusedPerSecond: number): void {
    this.perSecond += GROWTH_PER_SECOND * Math.sqrt(refusedPerSecond * this.perSecond) * seconds
  }

  /** What a run without failure has shown counts at once; and after a longer one more is tried. Returns how much. */
  tried(now: number, probe: number): number {
    const seconds = now - this.#runAt
    if (this.#run >= LATELY_REQUESTS && seconds > TELLING_SECONDS)
      this.perSecond = Math.max(this.perSecond, this.#served / seconds)
    const trust = Math.min(this.#run / LATELY_REQUESTS, seconds / TELLING_SECONDS) / TRUSTED_RUNS
    return this.perSecond * (1 + probe + trust * trust)
  }

  /**
   * Refusing was shown to be free, down to `delivered`. `full`: at full admission, which delivered as much as `before`.
   */
  shows(delivered: number, full: boolean, before: number, now: number): void {
    if (full) {
      this.#shown = delivered
      this.#lasting = Math.min(before, this.#servedSince / (now - this.#troubleAt))
    }
    this.perSecond = Math.max(delivered, MOST_WAY * this.#shown)
  }

  /** More fails than is usual, by `beyond`: others need more, if there are any. */
  giveWay(beyond: number, keepsAll: boolean): void {
    const least = Math.max(keepsAll ? this.#lasting : 0, MOST_WAY * this.#shown)
    this.perSecond = Math.max(Math.min(this.perSecond, least), this.perSecond * (1 - WAY_PER_TURN * beyond))
  }

  /** A process that had this part may have gone, or go on unheard: it is given way to, if soon about as much more fails. */
  doubt(part: number, now: number): void {
    this.#shown *= 1 - part
    this.#unheard = 1 - (1 - this.#unheard) * (1 - part)
    this.#unheardAt = now
  }

  /** True if somebody goes on unheard, because about as much more fails as that would cost. */
  giveWayUnheard(beyond: number, now: number): boolean {
    if (now - this.#unheardAt > UNHEARD_SECONDS) this.#unheard = 0
    if (this.#unheard === 0 || beyond < UNHEARD_FAILS * this.#unheard) return false
    this.perSecond *= 1 - this.#unheard
    this.#unheard = 0
    return true
  }

  get isDoubted(): boolean {
    return this.#unheard > 0
  }

  /** It was all that is delivered to several; from now on it is this part. */
  keep(part: number): void {
    this.perSecond *= part
    this.#shown = this.perSecond
  }
}
