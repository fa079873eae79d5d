/** Number of collections that bound the live size now: any of them may have left garbage behind, but hardly all. */
const KEPT = 4
/** Weight of earlier collections, at each new one. */
const MEMORY = 0.95
/**
 * Margin in standard deviations: on the memory of one request, and on the change by requests that came and went since a
 * collection.
 */
const MARGIN = 2
/** Collections after which the regression line is usable. */
const KNOWN_AFTER = 3

interface Collection {
  live: number
  inFlight: number
  /** Requests that came or went, until then. */
  requests: number
}

/**
 * Estimates the live memory between collections, when it cannot be told from garbage. A weighted regression of the live
 * size after each collection on the number of requests in flight gives the memory that one request holds.
 *
 * Each of the last collections gives an upper bound of the live size now: the live size then, plus requests that came
 * since, minus requests that ended, plus a margin for their different sizes. A collection that left garbage gives too
 * high a bound, so the lowest bound counts. New requests hold less than they will later. So if more requests run than
 * on average, the regression line, extrapolated from the means, is a lower bound.
 *
 * It is given counts and readings, has no clock and starts nothing; each call is O(1).
 */
export class LiveLoad {
  /** The last reading. */
  observed: number = Number.NaN
  /** Memory that one request holds; at least 0. */
  held = 0
  samples = 0

  /** One standard deviation of `held`. */
  #doubt: number = Number.POSITIVE_INFINITY
  /** Variance of the change that one request brings, by coming or going. */
  #variance = 0
  #requests = 0
  readonly #last: Collection[] = []
  // Weighted sums: number, means, and products of deviations of the requests in flight and the live size.
  #weight = 0
  #meanInFlight = 0
  #meanLive = 0
  #ii = 0
  #il = 0
  #ll = 0

  /** `requests` came or ended. */
  pass(requests = 1): void {
    this.#requests += requests
  }

  /** Takes back an admission that never ran. */
  undo(): void {
    this.#requests--
  }

  /** Takes the live size at the end of a collection, while `inFlight` requests run. */
  sample(live: number, inFlight: number): void {
    const before = this.#last.at(-1)
    this.#fit(live, inFlight)
    if (before !== undefined) {
      const error = live - before.live - this.held * (inFlight - before.inFlight)
      const perRequest = error ** 2 / Math.max(1, this.#changed(before, inFlight))
      this.#variance += (perRequest - this.#variance) * Math.max(1 / this.samples, 1 - MEMORY)
    }
    this.samples++
    this.observed = live
    if (this.#last.length === KEPT) this.#last.shift()
    this.#last.push({ live, inFlight, requests: this.#requests })
  }

  /**
   * Upper estimate of the live size now, while `inFlight` requests run. `most` is the amount by which a request raises
   * the size in use, garbage included, and `used` is that size: the bound on both.
   */
  load(inFlight: number, most: number, used: number): number {
    const held = this.#heldAtMost(most)
    let lowest = used
    for (const collection of this.#last) {
      const more = inFlight - collection.inFlight
      const spread = Math.sqrt(this.#variance * this.#changed(collection, inFlight))
      lowest = Math.min(lowest, collection.live + (more > 0 ? held : this.held) * more + MARGIN * spread)
    }
    return Math.max(lowest, this.least(inFlight, used, held))
  }

  /** Upper bound of {@link load} from the regression line alone. */
  most(inFlight: number, most: number = Number.POSITIVE_INFINITY): number {
    return this.least(inFlight, Number.POSITIVE_INFINITY, this.#heldAtMost(most))
  }

  #heldAtMost(most: number): number {
    return Math.max(this.held, Math.min(most, this.held + MARGIN * this.#doubt))
  }

  /**
   * The size that `inFlight` requests will reach, each holding `held`, if more requests run than on average at
   * collections; 0 otherwise. Requests that were admitted but have not taken their memory yet show in no reading. But
   * memory that no request holds does: it is `used` at most, however much it was at earlier collections.
   */
  least(inFlight: number, used: number, held: number = this.held): number {
    const more = inFlight - this.#meanInFlight
    if (more <= 0 || this.samples < KNOWN_AFTER) return 0
    return Math.min(this.#meanLive + held * more, used + held * inFlight)
  }

  /** Number of requests that may have changed the live size since then: those that both came and went do not. */
  #changed({ requests, inFlight }: Collection, inFlightNow: number): number {
    return Math.max(0, Math.min(this.#requests - requests, inFlight + inFlightNow))
  }

  /** Weighted least squares of live = base + held·inFlight. */
  #fit(live: number, inFlight: number): void {
    const before = this.#weight * MEMORY
    this.#weight = before + 1
    const byInFlight = inFlight - this.#meanInFlight
    const byLive = live - this.#meanLive
    this.#meanInFlight += byInFlight / this.#weight
    this.#meanLive += byLive / this.#weight
    const share = before / this.#weight
    this.#ii = this.#ii * MEMORY + share * byInFlight * byInFlight
    this.#il = this.#il * MEMORY + share * byInFlight * byLive
    this.#ll = this.#ll * MEMORY + share * byLive * byLive
    if (this.#ii === 0) return
    this.held = Math.max(0, this.#il / this.#ii)
    const residual = Math.max(0, this.#ll - this.held * this.#il)
    const free = this.#weight - 2
    this.#doubt = free > 0 ? Math.sqrt(residual / free / this.#ii) : Number.POSITIVE_INFINITY
  }
}
