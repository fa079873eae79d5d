import { FairClock } from '../clock/fair-clock.js'
import type { Admission, ClockBelief, ClockMark } from '../clock/state.js'
import { LATELY_REQUESTS } from '../clock/state.js'

/** Time for which a silent process may continue unheard: then this part of its share fails in addition. */
const UNHEARD_SECONDS = 5
const UNHEARD_FAILS = 0.5

/**
 * A fair clock that can continue from another's state, and be followed. A process's own follows the arbiter's, and
 * measures again when that falls silent; the arbiter's gives way to processes that have fallen silent.
 */
export class SharedFairClock extends FairClock {
  #followedAt = 0
  /** The part of processes that may continue unheard, and since when. */
  #unheard = 0
  #unheardAt = 0
  readonly #origin: number
  readonly #grain: number
  #grains = 0

  /** `origin`: the time of day at 0, in seconds. `grain`: it receives the requests of this many seconds at once. */
  constructor(credit: number, probe: number, origin: number, grain = 0) {
    super(credit, probe, origin, grain)
    this.#origin = origin
    this.#grain = grain
  }

  /** Continues from another's state. */
  start(belief: ClockBelief): void {
    this.follow({ ...belief, looking: false }, belief, 1)
    this.following = false
    this.engagedAt = this.now
    this.requests = LATELY_REQUESTS
  }

  /**
   * A process with this part may have gone, or continue unheard: it gets a concession, if soon about as much more
   * fails.
   */
  doubt(part: number): void {
    this.alone = false
    // Perhaps this part of what was shown was delivered to that process.
    this.delivery.shown *= 1 - part
    this.#unheard = 1 - (1 - this.#unheard) * (1 - part)
    this.#unheardAt = this.now
  }

  /** Its present state. */
  get mark(): ClockMark {
    return { time: this.time, left: this.reserve.left, owed: this.reserve.owed }
  }

  /** The state from which others can continue. */
  get belief(): ClockBelief {
    const { time, rate, meanCost, usual, deliverable } = this
    const { left, owed, fill, floor, target: reserve, most } = this.reserve
    const { looking } = this.looks
    const open = looking ? this.wasOpen : this.open
    return { time, rate, open, meanCost, usual, deliverable, left, owed, fill, floor, reserve, most, looking }
  }

  /**
   * From now on this clock follows one that measures for all processes: it had this state when this one was at `mark`.
   * This `part` of the admissions is made here: it counts on the same part of the capacity.
   */
  follow(belief: ClockBelief, mark: ClockMark, part: number): void {
    this.virtual.time += belief.time - mark.time
    this.virtual.rate = belief.rate
    const isEmpty = this.correctedAt > this.#followedAt && !this.open
    const { reserve } = this
    const left = this.open ? belief.left : reserve.left + belief.left - mark.left
    reserve.left = isEmpty ? Math.min(reserve.left, left) : left
    reserve.owed = this.open ? belief.owed : reserve.owed + belief.owed - mark.owed
    reserve.fill = belief.fill
    reserve.floor = belief.floor
    reserve.target = belief.reserve
    reserve.most = belief.most
    this.open = belief.open && !belief.looking
    this.wasOpen = belief.open
    this.meanCost = belief.meanCost
    this.usual = belief.usual
    this.delivery.perSecond = belief.deliverable
    this.part = part
    this.looks.looking = belief.looking
    this.following = true
    this.#followedAt = this.now
  }

  /** Moves the origin of tags, `by` later, including the one that new flows share. */
  shift(by: number): void {
    this.virtual.newTag += by
  }

  /**
   * From now on this clock measures by itself again: its part of the resource, but at least `least`. Its recent part is
   * no estimate of its future demand: with a part near zero it would refuse everything for half a minute. `isRested`:
   * it had no request for long.
   */
  lead(least: number, isRested: boolean): void {
    if (!this.following) return
    const part = Math.max(this.part, least)
    if (this.looks.looking) this.open = this.wasOpen
    this.looks.looking = false
    this.following = false
    this.part = 1
    this.delivery.perSecond *= part
    this.delivery.shown = this.delivery.perSecond
    // A rate that is too low is soon corrected, one that is too high is not: as if a part of each flow's requests
    // arrived here. If nothing is short the rate follows by itself, and would otherwise fall with every lease that
    // ends. After a rest, the next requests may all be of few flows.
    if (!this.open && !isRested) this.virtual.rate *= part
    this.reserve.empty()
    this.alone = false
    this.slope.clear()
    this.looks.restart()
    this.delivery.runs(this.now)
    this.engagedAt = this.correctedAt = this.now
    this.full = 0
  }

  /** Requests that are reported at once, at the end of their grain, count in its middle. */
  protected override look(now: number, elapsed: number): void {
    const grain = this.#grain
    if (grain === 0) {
      super.look(now, elapsed)
      return
    }
    const grains = Math.floor(this.now / grain)
    if (grains === this.#grains) return
    const seconds = grain * Math.min(grains - this.#grains, 1 / grain)
    this.#grains = grains
    super.look(this.#origin + (grains + 0.5) * grain, seconds)
  }

  /**
   * A process that has fallen silent may continue unheard: it gets a concession, if the additional failures match its
   * cost.
   */
  override failed(cost: number, admission: Admission, expected = 0): void {
    super.failed(cost, admission, expected)
    if (this.open || this.following || this.looks.looking || this.#unheard === 0) return
    if (this.now - this.#unheardAt > UNHEARD_SECONDS) this.#unheard = 0
    if (this.beyond < UNHEARD_FAILS * this.#unheard || this.#unheard === 0) return
    this.delivery.perSecond *= 1 - this.#unheard
    this.#unheard = 0
    this.engage()
    this.reserve.empty()
  }
}
