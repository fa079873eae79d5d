import { DELAYS, RATE_REQUESTS, RATE_SECONDS, SURE } from './evidence.js'

/**
 * Part of the first half that is left out, and half of that of the second: earlier admissions still have their effect.
 */
const SETTLES = 0.075
/** A look takes away the share that fails, within these bounds: so only the delivered rate is admitted. */
export const LEAST_DEPTH = 0.1
const MOST_DEPTH = 0.5
/** No verdict before this part of the outcomes of each half is known. */
const HEARD = 0.6
/** Counts are halved beyond this many outcomes. */
const MOST_OUTCOMES = 1_600
/** While nothing is refused, doubt after this many outcomes counts against a shortage. */
const MOST_DOUBT = 400
/**
 * Parts of the failures explained by a shortage: if this part disappears, there is a shortage; if this part stays,
 * there is none.
 */
const GONE = 0.3
const STAYED = 0.4
/** To conclude that they stay: less certainty is needed before anything is refused than once a shortage was shown. */
const SURE_STAYED = 1.5
const SURE_ALL_THE_SAME = 3
/** No shortage if the share of failures that disappeared is not known more precisely than this. */
const MOST_ERROR = 0.3
/** Once requests are refused, refusing more is not free if less than this part of the earlier rate is served. */
const KEPT = 0.9
/** Turns until the next look, once failures are known to stay: twice as many each time. */
const MOST_PAUSE = 32

/** Result of the looks. `free`: admitting less reduced failures. `costs`: they stayed. */
export type Verdict = 'none' | 'free' | 'costs'

/** Admissions during one kind of half, and their outcomes. */
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

  scale(by: number): void {
    this.cost *= by
    this.requests *= by
    this.seconds *= by
    this.outcomes *= by
    this.failures *= by
    this.expected *= by
    this.served *= by
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
    const share = (this.failures + 0.5) / (this.outcomes + 1)
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
  /** From the last verdict: cost served per second, and, if failures stayed, their share. */
  delivered = 0
  staying = 0
  /** The same before less was admitted. */
  deliveredBefore = 0
  readonly #before = new Half()
  readonly #during = new Half()
  #half: Half | undefined = undefined
  #seconds = 0
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
    const fits = this.#seconds / RATE_SECONDS
    if (!this.#began || least > 2 * fits || (fits > 1 && least < fits / 8)) {
      this.clear()
      this.#seconds = RATE_SECONDS * 4 ** Math.ceil(Math.log2(least) / 2)
    }
    const seconds = this.#seconds
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
    this.#wanted = (due || again) && this.#turn % this.#pause === 0
  }

  /** True while there is no look, and no earlier one can yield a result. */
  get isIdle(): boolean {
    return !this.looking && !this.#wanted && this.#during.requests === 0
  }

  /** True if a look should begin now. */
  isDue(now: number): boolean {
    return this.#wanted && !this.looking && now / this.#seconds - this.#turn >= 0.5 && this.#before.requests > 0
  }

  /** Begins one: `share` of the admissions fails beyond the usual share. */
  begin(share: number): void {
    this.looking = true
    this.limit = this.#before.perSecond * (1 - Math.min(MOST_DEPTH, Math.max(LEAST_DEPTH, share)))
  }

  /** A request is admitted: returns the ticket for `report`. */
  admit(cost: number): number {
    const half = this.#half
    if (half === undefined) return 0
    half.cost += cost
    half.requests++
    return half === this.#during ? -this.#serial - 1 : this.#serial + 1
  }

  /** `expected`: failure rate of its flow's requests. */
  report(ticket: number, failed: boolean, cost: number, expected: number): void {
    if (Math.abs(ticket) !== this.#serial + 1) return
    const half = ticket > 0 ? this.#before : this.#during
    half.outcomes++
    half.expected += expected
    if (failed) half.failures++
    else half.served += cost
  }

  /** The outcome of a request is unknown: it will not be reported. */
  ignored(ticket: number): void {
    if (Math.abs(ticket) !== this.#serial + 1) return
    const half = ticket > 0 ? this.#before : this.#during
    half.requests--
  }

  /**
   * The conclusion so far. `open`: nothing is refused except in looks; after this many outcomes doubt counts against a
   * shortage.
   */
  verdict(open: boolean): Verdict {
    const before = this.#before
    const during = this.#during
    const outcomes = before.outcomes + during.outcomes
    // Failures may be reported earlier than successes, so each half waits for its own.
    if (!(Math.min(before.heard, during.heard) >= HEARD)) return 'none'
    const served = before.perSecond * (1 - before.share)
    const explained = before.share - Math.max(0, 1 - served / during.perSecond)
    if (!(explained > 0)) return this.#unclear(outcomes)
    // Flows were reduced by different amounts, which alone is no relief: only equal mixes are compared.
    const mix = before.expected / before.outcomes - during.expected / during.outcomes
    const gone = (before.share - during.share - mix) / explained
    const error = Math.sqrt(before.variance + during.variance) / explained
    this.deliveredBefore = before.servedPerSecond
    this.delivered = Math.max(before.servedPerSecond, during.servedPerSecond)
    const kept = during.servedPerSecond / before.servedPerSecond
    if ((open || kept >= KEPT) && gone - SURE * error > GONE && error < MOST_ERROR) {
      this.clear()
      return 'free'
    }
    if (gone + (open ? SURE_STAYED : SURE_ALL_THE_SAME) * error < STAYED || (open && outcomes > MOST_DOUBT)) {
      this.delivered = before.servedPerSecond
      this.staying = (before.failures + during.failures) / outcomes
      this.clear()
      return 'costs'
    }
    return this.#unclear(outcomes)
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
    this.#before.scale(0)
    this.#during.scale(0)
    this.#serial++
  }

  #unclear(outcomes: number): Verdict {
    if (outcomes > MOST_OUTCOMES) {
      this.#before.scale(0.5)
      this.#during.scale(0.5)
    }
    return 'none'
  }
}
