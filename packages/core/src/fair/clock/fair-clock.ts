import { Delivery, LEAST_DELIVERED, MOST_TRIED, TELLING_SECONDS, Traffic } from './capacity.js'
import { DeliverySlope, Looks, NO_WINDOW } from './proof.js'
import { SoleUser } from './sole-user.js'
import type { Admission, ClockJudgement } from './state.js'
import { CHANCE, LATELY_REQUESTS, LEAST_DEPTH, LEAST_SERVED, RATE_REQUESTS, TOLERATED } from './state.js'
import { CapacityReserve, FIRST_CREDIT, FULL, VirtualClock } from './virtual-clock.js'

/** More than this may be an outage: it is not compensated, and not learned as usual. */
const OUTAGE = 0.95

/**
 * The fair clock: decides by a flow's tag, the time until which it has had its share, whether it may have more.
 *
 * - An admission advances the tag of its flow by cost / weight. A flow whose tag is ahead of the clock is refused; one
 *   that lags behind may catch up by `credit` requests, no more.
 * - Nothing is refused until there is *proof* that refusing is free: that the delivered rate stays the same when less
 *   is admitted (`DeliverySlope`), or that failures end when no more is admitted than is delivered (`Looks`). Failures
 *   that stay have another reason; from then on as many of them are usual. An old proof is tested.
 * - `deliverable` is the observed capacity per second. It rises with the delivered rate, and falls only after proof
 *   that less is free: below 80 % of the rate delivered at full admission only by a proof at full admission. In any
 *   case, enough is admitted that 95 % of it is *served*: failures are compensated by admitting more, up to 1.5 times
 *   deliverable. So a resource that serves less when less is admitted, such as one with a small store, loses little.
 * - Within that, a failure shows that at this moment the resource is empty. `left` is its expected remainder. The clock
 *   runs at the fair rate times left / reserve: it stops while nothing is left, so that flows that lag behind get the
 *   available capacity, and catches up while there is plenty. The fair rate follows until the reserve is maintained.
 *
 * Costs are in any unit, times in seconds. Has no flows, hashes or clocks. O(1) per call, nothing allocated.
 *
 * @see N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14 (2016): trust the delivery rate
 * @see P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM 1996: tags and virtual time
 */
export class FairClock {
  /** True while nothing is refused. */
  open = true
  /** Mean cost of a request. */
  meanCost = 1
  /** Share of failures with another reason than a shortage, as shown by looks. */
  usual = 0
  /** Number of admitted requests that have not ended. */
  running = 0
  /** Delay until followers learn of it, in seconds: their admissions until then need reserve. */
  lag = 0
  readonly looks: Looks = new Looks()
  /** The expected remainder of the resource. */
  readonly reserve: CapacityReserve
  protected readonly virtual: VirtualClock = new VirtualClock()
  protected readonly delivery: Delivery = new Delivery()
  readonly #traffic = new Traffic()
  readonly #soleUser = new SoleUser()
  protected readonly slope: DeliverySlope
  readonly #isLate: boolean // many requests are reported at once
  readonly #credit: number
  readonly #probe: number
  readonly #origin: number
  protected now: number = Number.NaN
  protected requests = 0
  /** Number of requests admitted at this time, and in the mean: a clock may move in steps. For the first look. */
  #admitted = 0
  #atOnce = 0
  #alarmed = false
  protected alone = false
  #calmAt = 0
  /** Consecutive admissions that found the reserve full. */
  protected full = 0
  protected wasOpen = true
  #wasUnmet = false
  /** Turns in which failures stayed, less others, since clearly less is admitted than was shown. */
  #vain = 0
  /** Since when requests may be refused, because of a proof at full admission, or of the state of another clock. */
  protected engagedAt = 0
  /** True during a turn that tests an old proof: all is admitted. */
  #testing = false
  /** The amount owed at the start of a look, restored at its end: a look reduces the floor only by its refusals. */
  #owedBefore = 0
  /** For a clock that follows another: the local part of all admissions. */
  protected following = false
  protected part = 1
  protected correctedAt = 0

  /** `origin`: the time of day at 0, in seconds. `grain`: it receives the requests of this many seconds at once. */
  constructor(credit: number, probe: number, origin: number, grain = 0) {
    this.slope = new DeliverySlope(grain)
    this.reserve = new CapacityReserve(credit)
    this.#isLate = grain > 0
    this.#credit = credit
    this.#origin = origin
    this.#probe = probe
  }

  /** It is `now`. An earlier time counts as no time passed; a leap ahead is time without requests. */
  advance(now: number): void {
    const elapsed = now - this.now
    this.now = now
    if (elapsed <= 0) return
    if (Number.isNaN(elapsed)) {
      this.correctedAt = this.#calmAt = now
      this.delivery.runs(now)
      return
    }
    this.#traffic.advance(elapsed, this.meanCost)
    this.#atOnce += (this.#admitted - this.#atOnce) / LATELY_REQUESTS
    this.#admitted = 0
    if (!(this.open ? this.#alarmed : this.#unmet) || this.failureShare < this.usual + LEAST_DEPTH) this.#calmAt = now
    else if (now - this.#calmAt > TELLING_SECONDS) this.alone = false
    if (!this.following) this.look(this.#origin + now, elapsed)
    if (this.open) {
      const by = this.rate * elapsed
      this.virtual.time += by
      this.#traffic.moves(by)
    } else this.#goOn(elapsed)
  }

  /** A request arrives. */
  arrives(cost: number, weight: number): void {
    this.virtual.arrives(cost, weight, this.requests++)
    this.meanCost += (cost - this.meanCost) / Math.min(this.requests, LATELY_REQUESTS)
  }

  /** The effective tag: a flow that lags far behind has the maximum credit, a new one little. */
  tagOf(stored: number, known: boolean, weight: number): number {
    const unit = this.meanCost / weight
    const newTag = this.open ? this.time - FIRST_CREDIT * unit : this.time
    return Math.max(known ? stored : newTag, this.time - this.#credit * unit)
  }

  /** Judges a request of a flow with this tag. */
  judge(tag: number, known: boolean, cost: number, weight: number): ClockJudgement {
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

  /** The clock, in units of cost by weight, and the rate of each flow: cost per second and unit of weight. */
  get time(): number {
    return this.virtual.time
  }

  get rate(): number {
    return this.virtual.rate
  }

  /** Cost per second that the resource was seen to serve; 0 before the first shortage. */
  get deliverable(): number {
    return this.delivery.perSecond
  }

  /** True in a shortage while nothing is left. */
  get isStrained(): boolean {
    return !this.open && this.reserve.spare <= 0
  }

  /** A flow at its limit is admitted although nothing is left, or `times` as many are: the fair rate is too high. */
  strain(times = 1): void {
    if (!this.open) this.virtual.strain(this.deliverable, this.meanCost, times)
  }

  /** A request was refused. */
  refuse(cost: number): void {
    this.full = 0
    this.#traffic.refuses(cost)
  }

  /** A request was admitted. */
  letIn(cost: number): void {
    this.#traffic.admits(cost)
    if (this.open) return
    this.#take(cost)
    const isCalm = this.failureShare < this.usual + TOLERATED
    // Of reports by others one may be wrong, and make the demand of the floor appear met.
    const isLess = this.#unmet && !this.#isLate
    this.full = (isCalm || isLess) && this.reserve.spare >= this.reserve.full ? this.full + 1 : 0
    // The shortage is over; or all is admitted and less is served than was proved, so a new proof is needed.
    if (this.full > RATE_REQUESTS && !this.looks.looking && !this.following) this.#release()
  }

  /** Records the time of an admission: to be returned with its outcome. */
  note(admission: Admission, cost: number): void {
    // What is reported at once was not admitted at once.
    if (!this.#isLate) this.#admitted++
    admission.at = this.now
    admission.window = NO_WINDOW
    // An alarm discards the windows before it.
    if (this.#alarmed && !this.looks.looking) {
      const { delay, servedShare } = this.#traffic
      admission.window = this.slope.admit(this.now, this.#admittedPerSecond, servedShare, this.meanCost, delay)
    }
    admission.look = this.looks.admit(cost)
    admission.isDry = this.#soleUser.admit(this.now, cost, this.meanCost, this.#traffic.servedPerSecond)
    admission.running = this.running++
  }

  /** A request has cost `due` more than its charge, or less. */
  settle(due: number): void {
    if (!this.open) this.#take(due)
  }

  /** An admitted request was served. `expected`: failure rate of its flow; 0 if unknown. */
  succeeded(cost: number, admission: Admission, expected = 0): void {
    this.#ends(false, cost, cost, admission, expected)
    if (this.failureShare < CHANCE) this.#alarmed = false
    this.#serves(cost)
  }

  /** An admitted request failed, and not for a reason of its flow. */
  failed(cost: number, admission: Admission, expected = 0): void {
    this.#ends(true, cost, 0, admission, expected)
    // In a look it would discard the look's outcomes.
    if (!this.#alarmed && !this.looks.looking && this.failureShare > 2 * TOLERATED) {
      this.#alarmed = true
      this.slope.clear()
      if (this.open || !this.delivery.gaveMuch) this.looks.restart()
      this.delivery.begins(this.now)
    }
    if (!this.open) {
      const tried = this.#traffic.admittedPerSecond >= MOST_TRIED * this.deliverable
      if (!tried && !this.looks.looking && this.failureShare < OUTAGE) this.reserve.giveBack(cost)
      // At this moment the resource is empty. A failure of a request admitted before that was last known is no news.
      if (this.following || admission.at >= this.correctedAt) {
        this.reserve.left = Math.min(this.reserve.left, 0)
        this.correctedAt = this.now
      }
    }
    this.delivery.fails(this.now)
  }

  /** The outcome of an admitted request is unknown: it used the resource as often as others do. */
  ignored(cost: number, admission: Admission): void {
    const served = cost * (1 - this.failureShare)
    if (admission.window !== NO_WINDOW) this.slope.report(admission.window, cost, served)
    this.looks.ignored(admission.look)
    this.#traffic.serves(served)
    this.#serves(served)
  }

  /** An admitted request did not run: its reservation is free again. */
  withdrawn(cost: number): void {
    this.#traffic.admits(-cost)
    this.settle(-cost)
  }

  /** True while there may be a shortage. */
  get isTroubled(): boolean {
    return this.#alarmed || !this.open
  }

  /** True while no arriving or served request, and no elapsed time, can cause a refusal. */
  get isCalm(): boolean {
    return !this.isTroubled && this.usual === 0 && this.looks.isIdle && this.requests > 0
  }

  get failureShare(): number {
    return this.#traffic.failureShare
  }

  get #admittedPerSecond(): number {
    return Math.max(1e-3 * this.meanCost, this.#traffic.admittedPerSecond)
  }

  /** True while less than the floor is served, although the floor's whole demand was admitted. */
  get #unmet(): boolean {
    if (this.open || !(this.deliverable > 0)) return false
    const tried = this.#traffic.admittedPerSecond >= FULL * MOST_TRIED * this.deliverable
    return tried || this.reserve.owed >= this.reserve.full
  }

  /** The unexplained share of failures. */
  protected get beyond(): number {
    return this.#traffic.servedShare < LEAST_SERVED ? 0 : this.#traffic.beyond(this.usual)
  }

  /** Adds an outcome to the evidence on whether refusing is free. */
  #ends(failed: boolean, cost: number, served: number, admission: Admission, expected: number): void {
    this.#traffic.ends(failed, this.now - admission.at, cost)
    this.#traffic.serves(served)
    if (admission.window !== NO_WINDOW) this.slope.report(admission.window, cost, served)
    this.looks.report(admission.look, failed, cost, this.now - admission.at, expected)
    if (!this.#isLate) this.#soleUser.report(admission, failed)
    if (!this.#alarmed || this.looks.looking || this.following) return
    const delivered = this.slope.delivered(this.usual, this.meanCost)
    const lately = Math.min(this.#traffic.servedPerSecond, this.delivery.sincePerSecond(this.now))
    if (delivered === 0 || lately === 0) return
    // The windows may all lie in a pause of the resource, and before the trouble its store was served as well.
    const most = Math.max(delivered, lately)
    this.#shown(most, delivered, this.open)
    // Less than may be believed without a test is tested by looks.
    this.alone = most > LEAST_DELIVERED * this.deliverable
  }

  #serves(served: number): void {
    this.delivery.serves(served, !this.open && this.reserve.left < this.reserve.full)
  }

  /** Refusing was shown to be free, down to the rate delivered now, or `before` less was admitted. */
  #shown(delivered: number, before: number, full: boolean): void {
    if (!this.open && delivered > LEAST_DELIVERED * this.deliverable) return
    this.delivery.shows(delivered, full, before, this.now, this.#soleUser.isSole)
    this.#wasUnmet = false
    this.slope.clear()
    this.engage()
  }

  protected engage(): void {
    if (this.open) {
      this.reserve.left = this.reserve.owed = 0
      this.engagedAt = this.correctedAt = this.now
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
    return this.reserve.debt(this.meanCost, this.deliverable, this.#isLate || this.following)
  }

  /** Time passes in a shortage. */
  #goOn(seconds: number): void {
    if (!this.following) this.#expect(seconds)
    const reserve = this.reserve
    const before = reserve.spare
    reserve.earn(seconds, this.part, this.#debt)
    const after = reserve.spare
    // Nothing left: clock and rate stand still, which costs no flow anything.
    if (after <= 0) return
    const part = before > 0 ? seconds : (after / (after - before)) * seconds
    const pressure = (before > 0 ? (before + after) / 2 : after / 2) / reserve.target
    this.#traffic.moves(this.virtual.run(part, pressure, reserve.fill, this.meanCost))
  }

  /** The expected rate of the resource, and its target remainder. */
  #expect(seconds: number): void {
    const { meanCost, looks } = this
    if (!this.alone && !this.#soleUser.hasStore && !looks.looking && this.failureShare < this.usual + TOLERATED / 2)
      this.delivery.grow(seconds, this.#traffic.refusedPerSecond)
    const perSecond = Math.max(this.delivery.tried(this.now, this.#probe, this.#traffic.delay), meanCost)
    const reserve = this.reserve
    reserve.size(meanCost, this.deliverable ? 1 : Math.max(1, this.#atOnce), this.deliverable, perSecond, this.lag)
    reserve.fill = looks.looking ? Math.min(looks.limit, perSecond) : perSecond
    reserve.floor = looks.looking ? looks.limit : LEAST_DELIVERED * this.deliverable
  }

  /**
   * A request of a known flow arrives; `over`: its flow is ahead. While open, follows the rate at which a third would
   * be.
   */
  shadow(over: boolean, times = 1): void {
    if (this.open) this.virtual.shadow(over, this.#traffic.servedPerSecond, this.requests, this.meanCost, times)
  }

  /** New flows together are one account of the clock. */
  #letInNew(cost: number): boolean {
    if (this.reserve.spare >= this.reserve.full) return true
    const perSecond = this.part * this.deliverable
    return this.virtual.letInNew(cost, this.meanCost, perSecond, this.#traffic.movedPerSecond, this.#credit)
  }

  /** Starts scheduled looks, and reads their results. */
  protected look(now: number, elapsed: number): void {
    const { looks } = this
    const perSecond = this.#admittedPerSecond
    if (looks.advance(now, elapsed, perSecond / this.meanCost, this.#traffic.delay)) {
      if (looks.looking) {
        looks.looking = false
        this.reserve.giveBack(this.#owedBefore)
        if (this.wasOpen) this.#release()
      }
      this.#conclude()
      const beyond = this.beyond
      const isOver = !this.open && beyond > 0
      if (isOver && !this.alone) this.delivery.giveWay(beyond, this.#soleUser.isSole)
      if (this.#testing) this.#endTest()
      else if (
        !this.open &&
        this.#traffic.doubts(this.now - this.engagedAt, this.deliverable, perSecond, looks.turnSeconds)
      )
        this.#test()
      this.#vain = this.delivery.gaveMuch ? Math.max(0, this.#vain + (isOver ? 1 : -1)) : 0
      const isDue = this.#vain > 1 || (this.#alarmed && beyond > LEAST_DEPTH)
      if (!(this.alone || this.#testing) && this.failureShare > TOLERATED) looks.want(isDue, this.usual > 0)
    }
    if (!looks.isDue(now)) return
    this.wasOpen = this.open
    this.#wasUnmet = this.#unmet
    looks.begin(this.beyond > 0 ? this.beyond : this.failureShare)
    this.engage()
    this.#owedBefore = Math.max(0, this.reserve.owed)
    this.reserve.empty()
  }

  /** What an old proof says may be long over, and only full admission can show that. */
  #test(): void {
    this.#testing = true
    this.#release()
    this.slope.clear()
    this.looks.clear()
    this.delivery.begins(this.now)
  }

  /**
   * The proof holds unless clearly more was served, and not at the expense of other processes, which refuse meanwhile:
   * then more fails. If it does not hold, only a new one ends full admission.
   */
  #endTest(): void {
    this.#testing = false
    const isTaken = this.#traffic.servedShare < 1 - this.usual - 2 * TOLERATED && !this.#soleUser.isSole
    if (this.open && this.delivery.holds(this.now, this.meanCost, isTaken)) this.engage()
  }

  #conclude(): void {
    const { looks } = this
    const verdict = looks.verdict(this.open)
    if (verdict === 'free') {
      this.usual = Math.min(this.usual, looks.staying)
      const { delivered, deliveredBefore } = looks
      looks.showed(this.open || delivered < LEAST_DELIVERED * this.deliverable)
      if (this.open) this.alone = false
      // What an arbiter measures counts for all processes: there a rate that chance has raised costs failures.
      const most = this.#isLate ? deliveredBefore : Math.max(delivered, this.#traffic.servedPerSecond)
      this.#shown(
        this.open ? most : delivered,
        deliveredBefore,
        this.open || (!this.#soleUser.hasPool && (this.#unmet || this.#wasUnmet)),
      )
    } else if (verdict === 'costs') {
      looks.showed(false)
      if (looks.staying < OUTAGE) this.usual = looks.staying
      this.delivery.perSecond = Math.max(this.deliverable, looks.delivered)
    }
  }
}
