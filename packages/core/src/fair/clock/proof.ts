import {
  DELAYS,
  GRAIN,
  LEAST_DEPTH,
  LEAST_SERVED,
  MOST_OUTCOMES,
  OUTCOMES,
  RATE_REQUESTS,
  RATE_SECONDS,
  SURE,
  TOLERATED,
  VERY_SURE,
} from './state.js'

/**
 * Part of a turn that is left out where its first half begins, and twice as much where its second does: earlier
 * admissions still have their effect.
 */
const SETTLES = 0.075
/** A look takes away the share that fails, so only the delivered rate is admitted: mostly no more than this part. */
const MOST_DEPTH = 0.5
/** No verdict before this part of the outcomes of each half is known. */
const HEARD = 0.6
/** Counts are halved beyond this many failures: their number determines how precisely their share is known. */
const MOST_FAILURES = 400
/**
 * Parts of the failures explained by a shortage: if this part disappears, and its size is known as precisely, there
 * is a shortage; if this part stays, there is none.
 */
const GONE = 0.3
const STAYED = 0.4
/** Turns until the next look, once failures are known to stay: twice as many each time. */
const MOST_PAUSE = 32

/** Result of the looks, if there is one. `free`: admitting less reduced failures. `costs`: they stayed. */
export type LookVerdict = 'free' | 'costs' | undefined

/** Sums over the admissions during one kind of half, and over their outcomes. */
class Half {
  cost = 0
  requests = 0
  seconds = 0
  outcomes = 0
  failures = 0
  /** Failures expected by the flows of these outcomes. */
  expected = 0
  /** Cost of the successful outcomes. */
  served = 0
  /** Sums of the delays of successes, and of failures. */
  delay = 0
  failureDelay = 0

  scale(by: number): void {
    for (const sum of Object.keys(this) as 'cost'[]) this[sum] *= by
  }

  /** Whether failures are known later than successes. */
  get isLate(): boolean {
    return this.failureDelay * (this.outcomes - this.failures) > this.delay * this.failures
  }

  get perSecond(): number {
    return this.cost / this.seconds
  }

  /** Assumes that unknown outcomes are distributed like the rest. */
  get servedPerSecond(): number {
    return (this.served / this.seconds) * (this.requests / this.outcomes)
  }

  get share(): number {
    return this.failures / this.outcomes
  }

  get heard(): number {
    return this.outcomes / this.requests
  }

  /** Variance of the share, with half a failure added. */
  get variance(): number {
    const share = (this.failures + GRAIN) / (this.outcomes + 2 * GRAIN)
    return (share * (1 - share)) / this.outcomes
  }
}

/**
 * Do failures end when less is admitted? Tested in the second half of a turn, while more fails than usual. Turns follow
 * the wall clock, so all processes before a resource look at the same time: one that looked alone would find that the
 * others use the capacity that it frees.
 *
 * @see M. Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018, which steers by such experiments
 */
export class Looks {
  /** True while less is admitted as a test. */
  looking = false
  /** Cost per second that is admitted meanwhile. */
  limit = 0
  /** From the last verdict: cost served per second, and, if failures stayed, their share; otherwise 0. */
  delivered = 0
  staying = 0
  /** The same before less was admitted. */
  deliveredBefore = 0
  readonly #before = new Half()
  readonly #during = new Half()
  #half: Half | undefined
  /** Length of a turn. */
  turnSeconds = 0
  #turn = Number.NaN
  #wanted = false
  #began = false
  #pause = 1
  /** Counts with an older number belong to a finished experiment. */
  #serial = 0

  /**
   * It is `now`, `elapsed` seconds after the last call; `delay` is the mean time until an outcome. True if a turn has
   * ended: then `verdict` returns the conclusion, and `want` sets whether the next one has a look.
   */
  advance(now: number, elapsed: number, requestsPerSecond: number, delay: number): boolean {
    const least = Math.max(1, RATE_REQUESTS / requestsPerSecond / RATE_SECONDS, (DELAYS * delay) / RATE_SECONDS)
    // Kept while the rate changes a little: processes with different turns do not look together.
    const fits = this.turnSeconds / RATE_SECONDS
    // Before the first trouble turns fit exactly. Mostly they do already, and nothing was counted.
    const isUnfit = !this.#began && (least !== fits || this.#half !== undefined)
    if (isUnfit || least > 2 * fits || (fits > 1 && least < fits / 8)) {
      this.clear()
      this.turnSeconds = RATE_SECONDS * 4 ** Math.ceil(Math.log2(least) / 2)
    }
    const seconds = this.turnSeconds
    const turn = Math.floor(now / seconds)
    const ended = turn !== this.#turn
    this.#turn = turn
    if (ended) this.#wanted = false
    const part = now / seconds - turn
    this.#half = undefined
    if (this.#wanted && part < 0.5) {
      if (part > SETTLES) this.#half = this.#before
    } else if (this.#wanted && part > 0.5 + 2 * SETTLES) this.#half = this.#during
    if (this.#half !== undefined) this.#half.seconds += elapsed
    return ended
  }

  /** A turn has begun. `due`: more fails than usual. `again`: the reason is long known; looked at only occasionally. */
  want(due: boolean, again: boolean): void {
    if (due) this.#began = true
    if (this.#before.failures + this.#during.failures > MOST_FAILURES) this.#scale(0.5)
    this.#wanted = (due || again) && this.#turn % this.#pause === 0
  }

  /** True while there is no look, and no earlier one can yield a result. */
  get isIdle(): boolean {
    return !this.looking && !this.#wanted && this.#during.requests === 0
  }

  /** True if a look should begin now. */
  isDue(now: number): boolean {
    return this.#wanted && !this.looking && now / this.turnSeconds - this.#turn >= 0.5 && this.#before.requests > 0
  }

  /** Begins one: `share` of the admissions fails beyond the usual share. */
  begin(share: number): void {
    this.looking = true
    const depth = Math.min(MOST_DEPTH, Math.max(LEAST_DEPTH, share))
    // The last part halves the failures of a shortage of any depth: taking half away from ten times too much does not.
    this.limit = this.#before.perSecond * (1 - Math.max(depth, share / (2 - share)))
  }

  /** A request is admitted: returns the ticket for `report`. */
  admit(cost: number): number {
    const half = this.#half
    if (half === undefined) return 0
    half.cost += cost
    half.requests++
    return half === this.#during ? -this.#serial - 1 : this.#serial + 1
  }

  /** `delay` seconds after its admission; `expected`: failure rate of its flow's requests. */
  report(ticket: number, failed: boolean, cost: number, delay: number, expected: number): void {
    const half = this.#halfOf(ticket)
    if (half === undefined) return
    half.outcomes++
    half.expected += expected
    if (failed) {
      half.failures++
      half.failureDelay += delay
    } else {
      half.served += cost
      half.delay += delay
    }
  }

  /** The outcome of a request is unknown: it will not be reported. */
  ignored(ticket: number): void {
    const half = this.#halfOf(ticket)
    if (half !== undefined) half.requests--
  }

  #halfOf(ticket: number): Half | undefined {
    if (Math.abs(ticket) !== this.#serial + 1) return undefined
    return ticket > 0 ? this.#before : this.#during
  }

  /**
   * The conclusion so far. `open`: nothing is refused except in looks, so doubt after many outcomes counts against a
   * shortage.
   */
  verdict(open: boolean): LookVerdict {
    const before = this.#before
    const during = this.#during
    const outcomes = before.outcomes + during.outcomes
    // Failures may be reported earlier than successes, so each half waits for its own.
    const served = before.perSecond * (1 - before.share)
    const explained = before.share - Math.max(0, 1 - served / during.perSecond)
    if (!(Math.min(before.heard, during.heard) >= HEARD && explained > 0)) return undefined
    // Flows were reduced by different amounts, which alone is no relief: only equal mixes are compared.
    const mix = before.expected / before.outcomes - during.expected / during.outcomes
    const gone = (before.share - during.share - mix) / explained
    // Outcomes that only one half lacks yet are of the later kind: time-outs, or successes beside immediate refusals.
    const unknown = Math.abs(before.heard - during.heard) / explained
    const least = before.isLate ? gone - unknown : gone
    const most = least + unknown
    const error = Math.sqrt(before.variance + during.variance) / explained
    this.deliveredBefore = before.servedPerSecond
    this.delivered = Math.max(before.servedPerSecond, during.servedPerSecond)
    // Once requests are refused, refusing more is not free if as much less is served.
    const kept = during.servedPerSecond / before.servedPerSecond
    // Of many looks at usual failures, some find fewer by chance.
    const sure = this.staying > 0 ? VERY_SURE : SURE
    if ((open || kept >= 1 - LEAST_DEPTH) && error < GONE && least > GONE + sure * error) {
      this.staying = Math.min(this.staying, during.share + SURE * Math.sqrt(during.variance))
      this.clear()
      return 'free'
    }
    // Less certainty is needed before anything is refused than once a shortage was shown.
    const isDoubtful = open && outcomes > MOST_OUTCOMES / 2 && most <= GONE + sure * error
    if (most + (open ? 1 : VERY_SURE) * error < STAYED || isDoubtful) {
      this.delivered = before.servedPerSecond
      this.staying = (before.failures + during.failures) / outcomes
      this.clear()
      return 'costs'
    }
    return undefined
  }

  /** Trouble begins: restarts the counts, in turns for the present rate. */
  restart(): void {
    this.clear()
    this.#began = false
    this.#pause = 1
  }

  /** The result of a look: new, or known before. */
  showed(news: boolean): void {
    this.#pause = news ? 1 : Math.min(MOST_PAUSE, 2 * this.#pause)
  }

  /** Restarts the counts. */
  clear(): void {
    this.#scale(0)
    this.#serial++
  }

  #scale(by: number): void {
    this.#before.scale(by)
    this.#during.scale(by)
  }
}

/** Mean number of requests in a window: small enough for random variation, and to fill many windows soon. */
const WINDOW_REQUESTS = 5
/** Windows of a different length say something different: they restart when another would suit this much better. */
const MISFIT = 4
/** Costs are finite, but their sums may not be: without this, windows of no length would never end. */
const LEAST_SECONDS = 1e-6
/** Windows after which the slope is trusted. */
const LEAST_WINDOWS = 10
/** Most windows that await outcomes. */
const MOST_WAITING = 100
/** Stands for the window of an admission that is in none. */
export const NO_WINDOW = -1
/** Weight of earlier windows, at each new one. */
const KEPT: number = /* @__PURE__ */ Math.exp(-1 / OUTCOMES)
/** A smaller slope, relative to the served share, counts as zero: served per additional admitted request. */
const NOTHING = 0.35

/**
 * Is more served when more is admitted? Random variation admits more in one moment and less in the next, so the data
 * are available without an experiment: in many short windows, the slope of the served over the admitted cost. Failures
 * with a reason of their own take their share of each window, and the slope is that of the successes. If the resource
 * is the bottleneck, the served cost is independent of the admitted one, and the slope is 0.
 *
 * That holds for a process that uses the resource alone. Each of several processes sees the others' variation instead
 * of its own, and a slope of 1 - 1/n: no verdict, and then only looks can decide.
 *
 * O(1) per request, nothing allocated. Times in seconds.
 */
export class DeliverySlope {
  /** Reported cost, and served cost, of the admissions in each pending window. */
  readonly #heard = new Float64Array(MOST_WAITING + 1)
  readonly #served = new Float64Array(MOST_WAITING + 1)
  /** Decaying sums over windows: 1, admitted, served, admitted squared, their product, served squared. */
  readonly #sums = new Float64Array(6)
  readonly #grain: number
  #length = 0
  #end = 0
  #first = 0
  #last = -1

  /** `grain`: windows are whole multiples of this many seconds, because all admissions in one are reported at once. */
  constructor(grain = 0) {
    this.#grain = grain
  }

  /** Restarts: earlier admissions say nothing about the future. */
  clear(): void {
    this.#sums.fill(0)
    this.#length = 0
    this.#first = this.#last + 1
  }

  /**
   * A request is admitted at `now`: returns the number of its window. The recent rate is `perSecond`, of `meanCost`,
   * and `servedShare` of it is served.
   */
  admit(now: number, perSecond: number, servedShare: number, meanCost: number, delay: number): number {
    const length = this.#lengthFor(perSecond, servedShare, meanCost, delay)
    const fits = length < MISFIT * this.#length && this.#length < MISFIT * length
    if (!fits || now >= this.#end + MOST_WAITING * this.#length) {
      this.clear()
      this.#length = length
      this.#end = this.#grain > 0 ? this.#grain * Math.floor(now / this.#grain) : now
    }
    while (now >= this.#end) {
      this.#end += this.#length
      const waiting = Math.min(MOST_WAITING, 1 + Math.ceil((DELAYS * delay) / this.#length))
      while (this.#last - this.#first >= waiting) this.#count(this.#first++)
      const slot = ++this.#last % this.#heard.length
      this.#heard[slot] = 0
      this.#served[slot] = 0
    }
    return this.#last
  }

  /** Outcome of a request admitted in `window`; `served` is the served part of its cost. */
  report(window: number, cost: number, served: number): void {
    if (window < this.#first || window > this.#last) return
    const slot = window % this.#heard.length
    this.#heard[slot]! += cost
    this.#served[slot]! += served
  }

  /**
   * Cost served per second, if the windows show that admitting less would not reduce it; otherwise 0. `usual` is the
   * share of failures with another reason: with no more of them nothing is short.
   */
  delivered(usual: number, meanCost: number): number {
    const sums = this.#sums
    const windows = sums[0]!
    if (windows < LEAST_WINDOWS) return 0
    const mean = sums[1]! / windows
    const meanServed = sums[2]! / windows
    const variance = sums[3]! / windows - mean * mean
    const share = 1 - meanServed / mean
    if (!(variance > 0) || share < usual + TOLERATED || !(meanServed > 0)) return 0
    const slope = (sums[4]! / windows - mean * meanServed) / variance
    const unexplained = sums[5]! / windows - meanServed * meanServed - slope * slope * variance
    const error = Math.sqrt(Math.max((GRAIN * meanCost) ** 2, unexplained) / (variance * windows))
    return slope + SURE * error < NOTHING * (1 - share) ? meanServed / this.#length : 0
  }

  /** Target length of a window, in seconds. */
  #lengthFor(perSecond: number, servedShare: number, meanCost: number, delay: number): number {
    // In a deep overload a window holds more: counting in whole requests would hide the slope.
    const requests = Math.max(WINDOW_REQUESTS, (GRAIN / Math.max(LEAST_SERVED, servedShare)) ** 2)
    const seconds = Math.max(LEAST_SECONDS, (DELAYS * delay) / MOST_WAITING, (requests * meanCost) / perSecond)
    return this.#grain > 0 ? this.#grain * Math.ceil(seconds / this.#grain) : seconds
  }

  #count(window: number): void {
    const sums = this.#sums
    const heard = this.#heard[window % this.#heard.length]!
    const served = this.#served[window % this.#heard.length]!
    sums[0] = sums[0]! * KEPT + 1
    sums[1] = sums[1]! * KEPT + heard
    sums[2] = sums[2]! * KEPT + served
    sums[3] = sums[3]! * KEPT + heard * heard
    sums[4] = sums[4]! * KEPT + heard * served
    sums[5] = sums[5]! * KEPT + served * served
  }
}
