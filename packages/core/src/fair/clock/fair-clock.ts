import { Looks } from './looks.js'
import { DeliverySlope } from './slope.js'
import { LEAST_RATE, Traffic } from './traffic.js'

// What a flow may have.
/** Requests that a flow may have had when it is first heard of, while nothing is short. */
const FIRST_CREDIT = 2
/** In a shortage new flows may have this part together. */
const NEW_SHARE = 0.25

// How fast the clock runs.
/** What should be left: this many requests and this many seconds of capacity. Half a second is kept at most. */
const RESERVE_REQUESTS = 1
const RESERVE_SECONDS = 0.1
/** No debt is greater than one request, or what is served in this time: it would be paid by whoever comes next. */
const DEBT_SECONDS = 0.01
const MOST_SECONDS = 0.5
const MOST_REQUESTS = 12
/** From this part of the most on it is full: known flows leave something even to a clock at its fastest. */
const FULL = 0.8
/** The clock runs at most this many times as fast as the fair rate. */
const MOST_PRESSURE = 4
/** How quickly the fair rate follows, per request and per second. */
const GAIN_PER_REQUEST = 0.02
const GAIN_PER_SECOND = 0.2
/** While nothing is refused it follows the level at which a third would be: per second, per request at most, at first. */
const SHADOW_PER_SECOND = 0.3
const SHADOW_STEP = 0.03
const SHADOW_FIRST = 3
const SHADOW_SHARE = 1 / 3

// When there is a shortage.
/** Failures beyond this share add up to an alarm. */
const TOLERATED = 0.03
const ALARM = 3
/** More than this may be an outage: it is not made up for, and not learned as usual. */
const OUTAGE = 0.95
/** Less than this is served: an outage. There is nothing to share, and nothing to learn. */
const LEAST_SERVED = 1e-3
/** It is over when this many requests in a row were not refused, and then this many found the reserve full. */
const CALM_REQUESTS = 20

// How much the resource can do.
/** Requests over which the mean cost is averaged. */
const MEAN_REQUESTS = 100
/** This part of what the resource was seen to deliver is served again, whatever fails. */
const LEAST_DELIVERED = 0.95
/** Failures are made up for until this many times as much is let in: more would hardly bring more. */
const MOST_TRIED = 1.5
/**
 * A run without failure of this many requests and seconds shows by itself what is delivered: more than a store of the
 * resource does, and more than a stall of the process brings at once. With runs of a second, stalls of 100 ms kept what is
 * let in above what the resource can do: quiet flows got .89 instead of .95.
 */
const TELLING_REQUESTS = 100
const TELLING_SECONDS = 3
/** A run of this many times as many is trusted: then twice as much is tried, and more. */
const TRUSTED_RUNS = 3
/** Among several processes: how fast each takes more while little fails, and gives way, per turn, while more does. */
const GROWTH_PER_SECOND = 0.003
const WAY_PER_TURN = 0.2
const MOST_WAY = 0.8
/** For so long a process that has fallen silent may go on unheard: then this part of what it had fails in addition. */
const UNHEARD_SECONDS = 5
const UNHEARD_FAILS = 0.5
/** A process believes that it has the resource to itself until for so long the floor is not met and this much fails. */
const TROUBLE = 0.1
/** A look takes a tenth off for half of a turn: as much must fail, or this much once something is refused. */
const WORTH_ENGAGED = 0.05

/** What becomes of a request. `uncharged`: let in because nothing is short, though its flow is ahead of the clock. */
export type Judgement = 'refused' | 'uncharged' | 'charged'

/** What a clock believes: enough for others to go on from there. Costs and times as in `FairClock`. */
export interface ClockBelief {
  readonly time: number
  readonly rate: number
  readonly open: boolean
  readonly meanCost: number
  readonly usual: number
  readonly deliverable: number
  readonly left: number
  readonly owed: number
  /** What is added per second to `left` and to `owed`, and what they should be, and are at most. */
  readonly fill: number
  readonly floor: number
  readonly reserve: number
  readonly most: number
  /** True while less is let in to see what that does, whatever `open` says. */
  readonly looking: boolean
}

/** Where a clock was at some moment. */
export type ClockMark = Pick<ClockBelief, 'time' | 'left' | 'owed'>

/** What a request that was let in is remembered by, until its outcome. */
export interface Admission {
  /** When it was let in, in seconds. */
  at: number
  window: number
  look: number
}

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
  /** The clock, in units of cost by weight, and how fast each flow may go: cost per second and unit of weight. */
  time: number = FIRST_CREDIT
  rate = 1
  /** True while nothing is refused. */
  open = true
  /** Mean cost of a request. */
  meanCost = 1
  /** Share of failures that have another reason than a shortage, as far as looks have shown. */
  usual = 0
  /** Cost per second that the resource was seen to serve; 0 until a shortage was seen. */
  deliverable = 0
  /** Cost that the resource should have left; below 0: it is short. */
  left = 0
  /** How late those that follow hear of it, in seconds: what they let in until then has to be there. */
  lag = 0
  readonly looks: Looks = new Looks()
  readonly #traffic = new Traffic()
  readonly #slope: DeliverySlope
  readonly #credit: number
  readonly #probe: number
  readonly #origin: number
  readonly #grain: number
  #grains = 0
  #now = Number.NaN
  #requests = 0
  #doubt = 0
  #shownDeliverable = 0
  #alarmed = false
  #alone = false
  /** The part of processes that may go on unheard, and since when. */
  #unheard = 0
  #unheardAt = 0
  #calmAt = 0
  #unrefused = 0
  #full = 0
  #wasOpen = true
  #wasUnmet = false
  /** What has yet to be served whatever fails: filled by the floor, emptied by what is let in, given back by failures. */
  #owed = 0
  /** What a look found of it, and gives back at its end: looking takes nothing off the floor but what it refuses. */
  #owedBefore = 0
  #reserve = FIRST_CREDIT
  #most = MOST_REQUESTS
  #fill = 0
  #floor = 0
  /** Of a clock that follows another: which part of all that is let in is let in here. */
  #following = false
  #part = 1
  /** The run since the last failure: when it began, cost served in it, requests that tell something. */
  #runAt = 0
  #runServed = 0
  #run = 0
  #correctedAt = 0
  #newTag = 0
  #followedAt = 0

  /** `origin`: the time of day at 0, in seconds. `grain`: it hears of the requests of so many seconds at once. */
  constructor(credit: number, probe: number, origin: number, grain = 0) {
    this.#slope = new DeliverySlope(grain)
    this.#grain = grain
    this.#credit = credit
    this.#origin = origin
    this.#probe = probe
  }

  /** It is `now`. A time before the last one is no time passed; a leap ahead is time in which nothing came. */
  advance(now: number): void {
    const elapsed = now - this.#now
    this.#now = now
    if (!(elapsed > 0)) {
      if (Number.isNaN(elapsed)) this.#runAt = this.#correctedAt = this.#calmAt = now
      return
    }
    this.#traffic.advance(elapsed, this.meanCost)
    if (!this.#unmet || this.failureShare < this.usual + TROUBLE) this.#calmAt = now
    else if (now - this.#calmAt > TELLING_SECONDS) this.#alone = false
    if (!this.#following) this.#look(elapsed)
    if (this.open) this.#go(this.rate * elapsed)
    else this.#goOn(elapsed)
  }

  /** Goes on from what another believes. */
  start(belief: ClockBelief): void {
    this.follow({ ...belief, looking: false }, belief, 1)
    this.#following = false
    this.#requests = MEAN_REQUESTS
  }

  /** A process that had this part may have gone, or go on unheard: it is given way to, if soon about as much more fails. */
  doubt(part: number): void {
    this.#alone = false
    this.#shownDeliverable *= 1 - part
    this.#unheard = 1 - (1 - this.#unheard) * (1 - part)
    this.#unheardAt = this.#now
  }

  /** A request comes in. */
  arrives(cost: number, weight: number): void {
    if (this.#requests === 0) {
      this.time = (FIRST_CREDIT * cost) / weight
      this.rate = cost / weight
      this.meanCost = cost
    }
    this.#requests++
    this.meanCost += (cost - this.meanCost) / Math.min(this.#requests, MEAN_REQUESTS)
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

  /** True in a shortage while nothing is left. */
  get isStrained(): boolean {
    return !this.open && Math.max(this.left, this.#owed) <= 0
  }

  /** A flow at its limit is let in though nothing is left, or `times` as many are: the fair rate is too high. */
  strain(times = 1): void {
    if (this.open) return
    const { meanCost } = this
    const gain = (2 * GAIN_PER_SECOND * meanCost) / Math.max(this.deliverable, LEAST_RATE * meanCost)
    this.rate = Math.max(LEAST_RATE * meanCost, this.rate * Math.exp(-Math.min(SHADOW_STEP, gain) * times))
  }

  /** A request was refused. */
  refuse(cost: number): void {
    this.#unrefused = 0
    this.#traffic.refuses(cost)
  }

  /** A request was let in. */
  letIn(cost: number): void {
    this.#traffic.admits(cost)
    if (this.open) return
    this.#unrefused++
    const spare = Math.max(this.left, this.#owed)
    this.#take(cost)
    const calm = this.#unrefused > CALM_REQUESTS && this.failureShare < this.usual + TOLERATED
    this.#full = calm && spare - cost >= FULL * this.#most ? this.#full + 1 : 0
    if (this.#full > CALM_REQUESTS && !this.looks.looking && !this.#following) this.#release()
  }

  /** Writes down when a request was let in: to be given back with its outcome. */
  note(admission: Admission, cost: number): void {
    admission.at = this.#now
    const { delay, servedShare } = this.#traffic
    admission.window = this.looks.looking
      ? -1
      : this.#slope.admit(this.#now, this.#admittedPerSecond, servedShare, this.meanCost, delay)
    admission.look = this.looks.admit(cost)
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
      this.#slope.clear()
      this.looks.restart()
    }
    if (!this.open) {
      const tried = this.#traffic.admittedPerSecond >= MOST_TRIED * this.deliverable
      if (!tried && !this.looks.looking && this.failureShare < OUTAGE)
        this.#owed = Math.min(this.#most, this.#owed + cost)
      // At this moment the resource is empty. One of those let in before that was last known tells nothing new.
      if (this.#following || admission.at >= this.#correctedAt) {
        this.left = Math.min(this.left, 0)
        this.#correctedAt = this.#now
      }
      if (this.#unheard > 0 && !this.#following) this.#giveWay()
    }
    this.#runAt = this.#now
    this.#runServed = this.#run = 0
  }

  /** Nobody knows how a request that was let in ended: it used the resource as often as others do. */
  ignored(cost: number, admission: Admission): void {
    const served = cost * (1 - this.failureShare)
    this.#slope.report(admission.window, cost, served)
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
    return !this.isTroubled && this.usual === 0 && this.looks.isIdle && this.#requests > 0
  }

  get mark(): ClockMark {
    return { time: this.time, left: this.left, owed: this.#owed }
  }

  get belief(): ClockBelief {
    const { time, rate, meanCost, usual, deliverable, left } = this
    const [owed, fill, floor, reserve, most] = [this.#owed, this.#fill, this.#floor, this.#reserve, this.#most]
    const { looking } = this.looks
    const open = looking ? this.#wasOpen : this.open
    return {
      time,
      rate,
      open,
      meanCost,
      usual,
      deliverable,
      left,
      owed,
      fill,
      floor,
      reserve,
      most,
      looking,
    }
  }

  /**
   * From now on this clock follows one that measures for all processes: it believed this at the moment when this one
   * was at `mark`. This `part` of what is let in is let in here: it counts on as much of what there is.
   */
  follow(belief: ClockBelief, mark: ClockMark, part: number): void {
    this.time += belief.time - mark.time
    const was = this.open
    const isEmpty = this.#correctedAt > this.#followedAt && !was
    const left = was ? belief.left : this.left + belief.left - mark.left
    this.left = isEmpty ? Math.min(this.left, left) : left
    this.#owed = was ? belief.owed : this.#owed + belief.owed - mark.owed
    this.rate = belief.rate
    this.open = belief.open && !belief.looking
    this.#wasOpen = belief.open
    this.meanCost = belief.meanCost
    this.usual = belief.usual
    this.deliverable = belief.deliverable
    this.#fill = belief.fill
    this.#floor = belief.floor
    this.#reserve = belief.reserve
    this.#most = belief.most
    this.#part = part
    this.looks.looking = belief.looking
    this.#following = true
    this.#followedAt = this.#now
  }

  /** Tags are told from another beginning, `by` later: so is the one that new flows share. */
  shift(by: number): void {
    this.#newTag += by
  }

  /** From now on this clock measures for itself again: the part of the resource that it had. */
  lead(): void {
    if (!this.#following) return
    const part = this.#part
    if (this.looks.looking) this.open = this.#wasOpen
    this.looks.looking = false
    this.#following = false
    this.#part = 1
    this.deliverable *= part
    // Too slow is soon made up for, too fast is not: as if a part of each flow's requests came here.
    this.rate *= part
    this.left = Math.min(0, this.left)
    this.#owed = Math.min(0, this.#owed)
    this.#shownDeliverable = this.deliverable
    this.#alone = false
    this.#slope.clear()
    this.looks.restart()
    this.#runAt = this.#correctedAt = this.#now
    this.#runServed = this.#run = this.#unrefused = this.#full = 0
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
    return !this.open && this.deliverable > 0 && (tried || this.#owed >= FULL * this.#most)
  }

  /** The share of failures that waits for an explanation. */
  get #beyond(): number {
    return this.#traffic.servedShare < LEAST_SERVED ? 0 : this.#traffic.beyond(this.usual, TOLERATED)
  }

  /** How an outcome counts for whoever asks whether refusing pays. */
  #ends(failed: boolean, cost: number, served: number, admission: Admission, expected: number): void {
    this.#traffic.ends(failed, this.#now - admission.at, cost)
    this.#traffic.serves(served)
    this.#slope.report(admission.window, cost, served)
    this.looks.report(admission.look, failed, cost, expected)
    if (!this.#alarmed || this.looks.looking || this.#following) return
    const delivered = this.#slope.delivered(this.usual, this.meanCost)
    if (delivered === 0) return
    this.#alone = true
    this.#shown(delivered)
  }

  #serves(served: number): void {
    this.#runServed += served
    if (!this.open && this.left < FULL * this.#most) this.#run++
  }

  /** Refusing was shown to be free, down to what is delivered. */
  #shown(delivered: number): void {
    if (!this.open && delivered > LEAST_DELIVERED * this.deliverable) return
    if (this.open || this.#unmet || this.#wasUnmet) this.#shownDeliverable = delivered
    this.deliverable = Math.max(delivered, MOST_WAY * this.#shownDeliverable)
    this.#wasUnmet = false
    this.#slope.clear()
    this.#engage()
  }

  /** Somebody goes on unheard, if about as much more fails as that would cost. */
  #giveWay(): void {
    if (this.#now - this.#unheardAt > UNHEARD_SECONDS) this.#unheard = 0
    if (this.looks.looking || this.#unheard === 0 || this.#beyond < UNHEARD_FAILS * this.#unheard) return
    this.deliverable *= 1 - this.#unheard
    this.#engage()
    this.left = Math.min(this.left, 0)
    this.#owed = Math.min(this.#owed, 0)
    this.#unheard = 0
  }

  #engage(): void {
    if (this.open) {
      this.left = this.#owed = 0
      this.#runServed = this.#run = this.#unrefused = 0
      this.#runAt = this.#correctedAt = this.#now
    }
    this.open = false
    this.#full = 0
  }

  #release(): void {
    this.open = true
    this.#full = 0
  }

  #take(cost: number): void {
    this.left = this.#within(this.left - cost)
    this.#owed = this.#within(this.#owed - cost)
  }

  #go(by: number): void {
    this.time += by
    this.#traffic.moves(by)
  }

  /** Time passes in a shortage. */
  #goOn(seconds: number): void {
    if (!this.#following) this.#expect(seconds)
    const before = Math.max(this.left, this.#owed)
    this.left = this.#within(this.left + this.#part * this.#fill * seconds)
    this.#owed = this.#within(this.#owed + this.#part * this.#floor * seconds)
    const after = Math.max(this.left, this.#owed)
    // Nothing left: clock and rate stand still, and nobody loses anything by that.
    if (after <= 0) return
    const part = before > 0 ? seconds : (after / (after - before)) * seconds
    const pressure = (before > 0 ? (before + after) / 2 : after / 2) / this.#reserve
    this.#go(this.rate * Math.min(MOST_PRESSURE, pressure) * part)
    const error = Math.min(MOST_PRESSURE, pressure - 1)
    const gain = Math.min((GAIN_PER_REQUEST * this.#fill) / this.meanCost, GAIN_PER_SECOND)
    this.rate *= Math.exp(Math.max(-0.7, Math.min(0.7, gain * error * part)))
  }

  #within(cost: number): number {
    // Where many requests are heard of at once, a debt is no more than what others have yet to be told.
    const isLate = this.#grain > 0 || this.#following
    const debt = isLate ? this.#reserve : Math.max(this.meanCost, DEBT_SECONDS * this.deliverable)
    return Math.min(this.#most, Math.max(cost, -debt))
  }

  /** What the resource can be expected to serve, and what it should have left. */
  #expect(seconds: number): void {
    const { meanCost, looks } = this
    if (!this.#alone && !looks.looking && this.failureShare < this.usual + TOLERATED / 2)
      this.deliverable += GROWTH_PER_SECOND * Math.sqrt(this.#traffic.refusedPerSecond * this.deliverable) * seconds
    const runSeconds = this.#now - this.#runAt
    if (this.#run >= TELLING_REQUESTS && runSeconds > TELLING_SECONDS)
      this.deliverable = Math.max(this.deliverable, this.#runServed / runSeconds)
    const trust = Math.min(this.#run / TELLING_REQUESTS, runSeconds / TELLING_SECONDS) / TRUSTED_RUNS
    const perSecond = Math.max(this.deliverable * (1 + this.#probe + trust * trust), meanCost)
    this.#reserve = RESERVE_REQUESTS * meanCost + (RESERVE_SECONDS + this.lag) * this.deliverable
    this.#most = Math.max(MOST_REQUESTS * meanCost, MOST_SECONDS * perSecond)
    this.#fill = looks.looking ? Math.min(looks.limit, perSecond) : perSecond
    this.#floor = looks.looking ? looks.limit : LEAST_DELIVERED * this.deliverable
  }

  /** A request of a known flow comes; `over`: its flow is ahead. While open, follows the rate at which a third would be. */
  shadow(over: boolean, times = 1): void {
    if (!this.open) return
    const { meanCost } = this
    const perSecond = (SHADOW_PER_SECOND * meanCost) / Math.max(this.#traffic.servedPerSecond, LEAST_RATE * meanCost)
    const first = over ? SHADOW_FIRST / this.#requests : 0
    const step = Math.min(SHADOW_STEP, Math.max(perSecond, first))
    this.rate *= Math.exp(step * times * (over ? 1 - SHADOW_SHARE : -SHADOW_SHARE))
    this.rate = Math.max(LEAST_RATE * meanCost, Math.min(meanCost / LEAST_RATE ** 2, this.rate))
  }

  /** New flows together are one account of the clock. */
  #letInNew(cost: number): boolean {
    const { meanCost } = this
    if (Math.max(this.left, this.#owed) >= FULL * this.#most) return true
    const pace = this.#traffic.movedPerSecond
    const weight = Math.max(1, (NEW_SHARE * this.#part * this.deliverable) / Math.max(pace, LEAST_RATE * meanCost))
    const tag = Math.max(this.#newTag, this.time - Math.max(pace, (this.#credit * meanCost) / weight))
    if (tag > this.time) return false
    this.#newTag = tag + cost / weight
    return true
  }

  /** Looks at appointments, and what they show. */
  #look(elapsed: number): void {
    const { looks } = this
    const grain = this.#grain
    let now = this.#origin + this.#now
    if (grain > 0) {
      const grains = Math.floor(this.#now / grain)
      if (grains === this.#grains) return
      elapsed = grain * Math.min(grains - this.#grains, 1 / grain)
      this.#grains = grains
      now = this.#origin + (grains + 0.5) * grain
    }
    const requestsPerSecond = this.#admittedPerSecond / this.meanCost
    if (looks.advance(now, elapsed, requestsPerSecond, this.#traffic.delay)) {
      if (looks.looking) {
        looks.looking = false
        this.#owed = Math.min(this.#most, this.#owed + this.#owedBefore)
        if (this.#wasOpen) this.#release()
      }
      this.#conclude()
      const beyond = this.#beyond
      if (!this.open && !this.#alone && beyond > 0)
        this.deliverable = Math.max(
          Math.min(this.deliverable, MOST_WAY * this.#shownDeliverable),
          this.deliverable * (1 - WAY_PER_TURN * beyond),
        )
      const mayLook = !this.#alone && this.failureShare > TOLERATED && this.#traffic.servedShare >= LEAST_SERVED
      const worthIt = beyond > (this.open ? TROUBLE : WORTH_ENGAGED)
      looks.want(mayLook && this.#alarmed && worthIt, mayLook && this.usual > 0)
    }
    if (!looks.isDue(now)) return
    this.#wasOpen = this.open
    this.#wasUnmet = this.#unmet
    looks.begin(this.#beyond > 0 ? this.#beyond : this.failureShare)
    this.#engage()
    this.left = Math.min(this.left, 0)
    this.#owedBefore = Math.max(0, this.#owed)
    this.#owed = Math.min(this.#owed, 0)
  }

  #conclude(): void {
    const { looks } = this
    const verdict = looks.verdict(this.open)
    if (verdict === 'free') {
      this.usual = this.open ? looks.staying : Math.min(looks.staying, this.usual)
      looks.showed(this.open || looks.delivered < LEAST_DELIVERED * this.deliverable)
      if (this.open) this.#alone = false
      this.#shown(this.open ? Math.max(looks.delivered, this.#traffic.servedPerSecond) : looks.delivered)
    } else if (verdict === 'costs') {
      looks.showed(false)
      if (looks.staying < OUTAGE) this.usual = looks.staying
      this.deliverable = Math.max(this.deliverable, looks.delivered)
    }
  }
}
