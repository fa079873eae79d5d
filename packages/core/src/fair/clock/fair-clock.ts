import type { Admission, Judgement } from './belief.js'
import { Delivery, MOST_WAY, TELLING_SECONDS } from './delivery.js'
import { LATELY_REQUESTS, TOLERATED } from './evidence.js'
import { LEAST_DEPTH, Looks } from './looks.js'
import { FULL, Reserve } from './reserve.js'
import { DeliverySlope } from './slope.js'
import { SoleUser } from './sole-user.js'
import { Traffic } from './traffic.js'
import { FIRST_CREDIT, VirtualClock } from './virtual-clock.js'

// When there is a shortage.
/** Failures beyond what is tolerated add up to an alarm. */
const ALARM = 3
/** More than this may be an outage: it is not made up for, and not learned as usual. */
const OUTAGE = 0.95
/** Less than this is served: an outage. There is nothing to share, and nothing to learn. */
const LEAST_SERVED = 1e-3
/** It is over when this many requests in a row were not refused, and then this many found the reserve full. */
const CALM_REQUESTS = 20

// How much the resource can do.
/** This part of what the resource was seen to deliver is served again, whatever fails. */
const LEAST_DELIVERED = 0.95
/** Failures are made up for until this many times as much is let in: more would hardly bring more. */
const MOST_TRIED = 1.5
/** A look takes a tenth off for half of a turn: as much must fail, or this much once something is refused. */
const WORTH_ENGAGED = 0.05

/**
 * The fair clock: decides by a flow's tag, the time until which it has had its share, whether it may have more.
 *
 * - Letting a request in moves the tag of its flow on by cost / weight. A flow whose tag is ahead of the clock is
 *   refused; one that lags behind may catch up by `credit` requests, no more.
 * - Nothing is refused until it was *shown* that refusing is free: that what is delivered stays the same when less is
 *   let in (`DeliverySlope`), or that failures end when no more is let in than is delivered (`Looks`). Failures that
 *   stay have another reason; from then on as many of them are usual.
 * - `deliverable` is what the resource was seen to serve per second. It rises with what is delivered, and falls only
 *   when that was shown to be free: below 80 % of what full admission delivered only by a proof at full admission.
 *   Whatever is believed, so much is let in that 95 % of it is *served*: failures are made up for by letting in more,
 *   up to 1.5 times deliverable. So a resource that serves less when less is let in, as one with a small store does, loses little.
 * - Inside of that, a failure says that at this moment the resource is empty. `left` is what it should have left. The
 *   clock runs at the fair rate times left / reserve: it stands still while nothing is left, so that what there is goes to
 *   those who lag behind, and catches up while there is plenty. The fair rate follows until the reserve is kept.
 *
 * Costs are in any unit, times in seconds. Knows no flows, hashes or clocks. O(1) per call, nothing allocated.
 *
 * @see N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14 (2016): believe what is delivered
 * @see P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM 1996: tags and virtual time
 */
export class FairClock {
  /** True while nothing is refused. */
  open = true
  /** Mean cost of a request. */
  meanCost = 1
  /** Share of failures that have another reason than a shortage, as far as looks have shown. */
  usual = 0
  /** How late those that follow hear of it, in seconds: what they let in until then has to be there. */
  lag = 0
  readonly looks: Looks = new Looks()
  protected readonly virtual: VirtualClock = new VirtualClock()
  protected readonly delivery: Delivery = new Delivery()
  protected readonly reserve: Reserve
  readonly #traffic = new Traffic()
  readonly #soleUser = new SoleUser()
  protected readonly slope: DeliverySlope
  readonly #credit: number
  readonly #probe: number
  readonly #origin: number
  readonly #grain: number
  #grains = 0
  protected now: number = Number.NaN
  protected requests = 0
  #doubt = 0
  #alarmed = false
  protected alone = false
  #calmAt = 0
  protected unrefused = 0
  protected full = 0
  protected wasOpen = true
  #wasUnmet = false
  /** What a look found to be owed, and gives back at its end: looking takes nothing off the floor but what it refuses. */
  #owedBefore = 0
  /** Of a clock that follows another: which part of all that is let in is let in here. */
  protected following = false
  protected part = 1
  protected correctedAt = 0

  /** `origin`: the time of day at 0, in seconds. `grain`: it hears of the requests of so many seconds at once. */
  constructor(credit: number, probe: number, origin: number, grain = 0) {
    this.slope = new DeliverySlope(grain)
    this.reserve = new Reserve(credit)
    this.#grain = grain
    this.#credit = credit
    this.#origin = origin
    this.#probe = probe
  }

  /** It is `now`. A time before the last one is no time passed; a leap ahead is time in which nothing came. */
  advance(now: number): void {
    const elapsed = now - this.now
    this.now = now
    if (!(elapsed > 0)) {
      if (!Number.isNaN(elapsed)) return
      this.correctedAt = this.#calmAt = now
      this.delivery.runs(now)
      return
    }
    this.#traffic.advance(elapsed, this.meanCost)
    if (!this.#unmet || this.failureShare < this.usual + LEAST_DEPTH) this.#calmAt = now
    else if (now - this.#calmAt > TELLING_SECONDS) this.alone = false
    if (!this.following) this.#look(elapsed)
    if (this.open) {
      const by = this.rate * elapsed
      this.virtual.time += by
      this.#traffic.moves(by)
    } else this.#goOn(elapsed)
  }

  /** A request comes in. */
  arrives(cost: number, weight: number): void {
    if (this.requests === 0) {
      this.virtual.begin(cost, weight)
      this.meanCost = cost
    }
    this.requests++
    this.meanCost += (cost - this.meanCost) / Math.min(this.requests, LATELY_REQUESTS)
  }

  /** What a stored tag counts for: a flow that lags far behind has as much credit as any may keep, a new one little. */
  tagOf(stored: number, known: boolean, weight: number): number {
    const unit = this.meanCost / weight
    const newTag = this.open ? this.time - FIRST_CREDIT * unit : this.time
    return Math.max(known ? stored : newTag, this.time - this.#credit * unit)
  }

  /** A request of a flow with this tag. */
  judge(tag: number, known: boolean, cost: number, weight: number): Judgement {
    const over = tag > this.time
    if (this.open) {
      if (known) this.shadow(over)
      this.letIn(cost)
      return over ? 'uncharged' : 'charged'
    }
    if (over || !(known || this.#letInNew(cost))) {
      this.refuse(cost)
      return 'refused'
    }
    if (this.isStrained && this.time - tag < this.meanCost / weight) this.strain()
    this.letIn(cost)
    return 'charged'
  }

  /** The clock, in units of cost by weight, and how fast each flow may go: cost per second and unit of weight. */
  get time(): number {
    return this.virtual.time
  }

  get rate(): number {
    return this.virtual.rate
  }

  /** Cost per second that the resource was seen to serve; 0 until a shortage was seen. */
  get deliverable(): number {
    return this.delivery.perSecond
  }

  /** Cost that the resource should have left; below 0: it is short. */
  get left(): number {
    return this.reserve.left
  }

  /** True in a shortage while nothing is left. */
  get isStrained(): boolean {
    return !this.open && this.reserve.spare <= 0
  }

  /** A flow at its limit is let in though nothing is left, or `times` as many are: the fair rate is too high. */
  strain(times = 1): void {
    if (!this.open) this.virtual.strain(this.deliverable, this.meanCost, times)
  }

  /** A request was refused. */
  refuse(cost: number): void {
    this.unrefused = 0
    this.#traffic.refuses(cost)
  }

  /** A request was let in. */
  letIn(cost: number): void {
    this.#traffic.admits(cost)
    if (this.open) return
    this.unrefused++
    const { spare } = this.reserve
    this.#take(cost)
    const calm = this.unrefused > CALM_REQUESTS && this.failureShare < this.usual + TOLERATED
    this.full = calm && spare - cost >= this.reserve.full ? this.full + 1 : 0
    if (this.full > CALM_REQUESTS && !this.looks.looking && !this.following) this.#release()
  }

  /** Writes down when a request was let in: to be given back with its outcome. */
  note(admission: Admission, cost: number): void {
    admission.at = this.now
    const { delay, servedShare, servedPerSecond } = this.#traffic
    admission.window = this.looks.looking
      ? -1
      : this.slope.admit(this.now, this.#admittedPerSecond, servedShare, this.meanCost, delay)
    admission.look = this.looks.admit(cost)
    admission.isDry = this.#soleUser.admit(this.now, cost, this.meanCost, servedPerSecond)
  }

  /** A request has cost `due` more than it was charged, or less. */
  settle(due: number): void {
    if (!this.open) this.#take(due)
  }

  /** A request that was let in was served. `expected`: how often its flow's requests fail; 0 where that is not told. */
  succeeded(cost: number, admission: Admission, expected = 0): void {
    this.#ends(false, cost, cost, admission, expected)
    this.#doubt = Math.max(0, this.#doubt - TOLERATED)
    if (this.#doubt === 0 && this.failureShare < TOLERATED / 2) this.#alarmed = false
    this.#serves(cost)
  }

  /** A request that was let in failed, and not for a reason of its flow's. */
  failed(cost: number, admission: Admission, expected = 0): void {
    this.#ends(true, cost, 0, admission, expected)
    this.#doubt = Math.min(2 * ALARM, this.#doubt + 1 - TOLERATED)
    if (this.#doubt >= ALARM && !this.#alarmed) {
      this.#alarmed = true
      this.slope.clear()
      this.looks.restart()
      this.delivery.begins(this.now)
    }
    if (!this.open) {
      const tried = this.#traffic.admittedPerSecond >= MOST_TRIED * this.deliverable
      if (!tried && !this.looks.looking && this.failureShare < OUTAGE) this.reserve.giveBack(cost)
      // At this moment the resource is empty. One of those let in before that was last known tells nothing new.
      if (this.following || admission.at >= this.correctedAt) {
        this.reserve.left = Math.min(this.reserve.left, 0)
        this.correctedAt = this.now
      }
    }
    this.delivery.runs(this.now)
  }

  /** Nobody knows how a request that was let in ended: it used the resource as often as others do. */
  ignored(cost: number, admission: Admission): void {
    const served = cost * (1 - this.failureShare)
    this.slope.report(admission.window, cost, served)
    this.looks.ignored(admission.look)
    this.#traffic.serves(served)
    this.#serves(served)
  }

  /** A request that was let in did not run after all: what was set aside for it is free again. */
  withdrawn(cost: number): void {
    this.#traffic.admits(-cost)
    if (!this.open) this.#take(-cost)
  }

  /** True while there may be a shortage. */
  get isTroubled(): boolean {
    return this.#alarmed || !this.open
  }

  /** True while no request that comes or is served, and no time that passes, can have anything refused. */
  get isCalm(): boolean {
    return !this.isTroubled && this.usual === 0 && this.looks.isIdle && this.requests > 0
  }

  /** Share of the latest outcomes that were failures, and not their flow's own. */
  get failureShare(): number {
    return this.#traffic.failureShare
  }

  get #admittedPerSecond(): number {
    return Math.max(1e-3 * this.meanCost, this.#traffic.admittedPerSecond)
  }

  /** True while less is served than the floor, though all of it has been let in that the floor can ask for. */
  get #unmet(): boolean {
    const tried = this.#traffic.admittedPerSecond >= FULL * MOST_TRIED * this.deliverable
    return !this.open && this.deliverable > 0 && (tried || this.reserve.owed >= this.reserve.full)
  }

  /** A sole user gives nothing away: nobody else would use it. Unless far less is served than was, whatever is let in. */
  get #keepsAll(): boolean {
    const isLess = this.#unmet && this.#traffic.servedPerSecond < MOST_WAY * this.deliverable
    return this.#soleUser.isSole && !isLess
  }

  /** The share of failures that waits for an explanation. */
  protected get beyond(): number {
    return this.#traffic.servedShare < LEAST_SERVED ? 0 : this.#traffic.beyond(this.usual)
  }

  /** How an outcome counts for whoever asks whether refusing pays. */
  #ends(failed: boolean, cost: number, served: number, admission: Admission, expected: number): void {
    this.#traffic.ends(failed, this.now - admission.at, cost)
    this.#traffic.serves(served)
    this.slope.report(admission.window, cost, served)
    this.looks.report(admission.look, failed, cost, expected)
    if (this.#grain === 0) this.#soleUser.report(admission.isDry, failed)
    if (!this.#alarmed || this.looks.looking || this.following) return
    const delivered = this.slope.delivered(this.usual, this.meanCost)
    if (delivered === 0) return
    this.alone = true
    this.#shown(delivered, delivered)
  }

  #serves(served: number): void {
    this.delivery.serves(served, !this.open && this.reserve.left < this.reserve.full)
  }

  /** Refusing was shown to be free, down to what is delivered, now or `before` less was let in. */
  #shown(delivered: number, before: number): void {
    if (!this.open && delivered > LEAST_DELIVERED * this.deliverable) return
    this.delivery.shows(delivered, this.open || this.#unmet || this.#wasUnmet, before, this.now)
    this.#wasUnmet = false
    this.slope.clear()
    this.engage()
  }

  protected engage(): void {
    if (this.open) {
      this.reserve.left = this.reserve.owed = 0
      this.unrefused = 0
      this.correctedAt = this.now
      this.delivery.runs(this.now)
    }
    this.open = false
    this.full = 0
  }

  #release(): void {
    this.open = true
    this.full = 0
  }

  #take(cost: number): void {
    this.reserve.take(cost, this.#debt)
  }

  get #debt(): number {
    return this.reserve.debt(this.meanCost, this.deliverable, this.#grain > 0 || this.following)
  }

  /** Time passes in a shortage. */
  #goOn(seconds: number): void {
    if (!this.following) this.#expect(seconds)
    const reserve = this.reserve
    const before = reserve.spare
    reserve.earn(seconds, this.part, this.#debt)
    const after = reserve.spare
    // Nothing left: clock and rate stand still, and nobody loses anything by that.
    if (after <= 0) return
    const part = before > 0 ? seconds : (after / (after - before)) * seconds
    const pressure = (before > 0 ? (before + after) / 2 : after / 2) / reserve.target
    this.#traffic.moves(this.virtual.run(part, pressure, reserve.fill, this.meanCost))
  }

  /** What the resource can be expected to serve, and what it should have left. */
  #expect(seconds: number): void {
    const { meanCost, looks } = this
    if (!this.alone && !this.#soleUser.isSole && !looks.looking && this.failureShare < this.usual + TOLERATED / 2)
      this.delivery.grow(seconds, this.#traffic.refusedPerSecond)
    const perSecond = Math.max(this.delivery.tried(this.now, this.#probe), meanCost)
    const reserve = this.reserve
    reserve.size(meanCost, this.deliverable, perSecond, this.lag)
    reserve.fill = looks.looking ? Math.min(looks.limit, perSecond) : perSecond
    reserve.floor = looks.looking ? looks.limit : LEAST_DELIVERED * this.deliverable
  }

  /** A request of a known flow comes; `over`: its flow is ahead. While open, follows the rate at which a third would be. */
  shadow(over: boolean, times = 1): void {
    if (this.open) this.virtual.shadow(over, this.#traffic.servedPerSecond, this.requests, this.meanCost, times)
  }

  /** New flows together are one account of the clock. */
  #letInNew(cost: number): boolean {
    if (this.reserve.spare >= this.reserve.full) return true
    const perSecond = this.part * this.deliverable
    return this.virtual.letInNew(cost, this.meanCost, perSecond, this.#traffic.movedPerSecond, this.#credit)
  }

  /** Looks at appointments, and what they show. */
  #look(elapsed: number): void {
    const { looks } = this
    const grain = this.#grain
    let now = this.#origin + this.now
    if (grain > 0) {
      const grains = Math.floor(this.now / grain)
      if (grains === this.#grains) return
      elapsed = grain * Math.min(grains - this.#grains, 1 / grain)
      this.#grains = grains
      now = this.#origin + (grains + 0.5) * grain
    }
    const requestsPerSecond = this.#admittedPerSecond / this.meanCost
    if (looks.advance(now, elapsed, requestsPerSecond, this.#traffic.delay)) {
      if (looks.looking) {
        looks.looking = false
        this.reserve.giveBack(this.#owedBefore)
        if (this.wasOpen) this.#release()
      }
      this.#conclude()
      const beyond = this.beyond
      if (!this.open && !this.alone && beyond > 0) this.delivery.giveWay(beyond, this.#keepsAll)
      const mayLook = !this.alone && this.failureShare > TOLERATED && this.#traffic.servedShare >= LEAST_SERVED
      const worthIt = beyond > (this.open ? LEAST_DEPTH : WORTH_ENGAGED)
      looks.want(mayLook && this.#alarmed && worthIt, mayLook && this.usual > 0)
    }
    if (!looks.isDue(now)) return
    this.wasOpen = this.open
    this.#wasUnmet = this.#unmet
    looks.begin(this.beyond > 0 ? this.beyond : this.failureShare)
    this.engage()
    this.#owedBefore = Math.max(0, this.reserve.owed)
    this.reserve.empty()
  }

  #conclude(): void {
    const { looks } = this
    const verdict = looks.verdict(this.open)
    if (verdict === 'free') {
      this.usual = 0
      looks.showed(this.open || looks.delivered < LEAST_DELIVERED * this.deliverable)
      if (this.open) this.alone = false
      const delivered = this.open ? Math.max(looks.delivered, this.#traffic.servedPerSecond) : looks.delivered
      this.#shown(delivered, looks.deliveredBefore)
    } else if (verdict === 'costs') {
      looks.showed(false)
      if (looks.staying < OUTAGE) this.usual = looks.staying
      this.delivery.perSecond = Math.max(this.deliverable, looks.delivered)
    }
  }
}
