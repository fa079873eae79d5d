/** Weight of earlier samples at each new one. */
const MEMORY = 0.98
/** Pull of the release towards the growth: a request mostly returns the amount it took. */
const RIDGE = 0.05
/**
 * Sum of rises, as a share of the limit, below which the least squares say more about the size of requests: the last
 * rises are old then, and may have been those of something else in the process.
 */
const LEAST_RISES = 0.01
/** Requests between two samples that are enough to learn from. */
const LEAST_REQUESTS = 5
/** Samples learned before predictions are good enough to be compared with readings. */
const LEAST_SAMPLES = 3
/** Least weight of a new residual in the variance. */
const VARIANCE_GAIN = 0.02
/** Largest residual that counts, and the smallest fall that may be a collection, as shares of the limit. */
const LARGEST_RESIDUAL = 0.1
const COLLECTION = 0.02
/** Standard deviations: the margin at a decision, and the size from which a fall counts as a collection. */
const MARGIN = 2
const SURPRISE = 4
/** Samples at which the margin is still twice its final value: few samples say little about a spread. */
const UNSURE_SAMPLES = 3

/**
 * The reserve for requests admitted since the last sample, at the size learned from earlier ones: a sampled load is
 * always stale, and an overload can kill the process between two samples.
 *
 * From the changes between samples it learns by least squares the amount that one admission adds and one finish takes
 * away, and the error of that estimate. For requests of even sizes the reserve is net of finished requests. The heavier
 * the tail of sizes, the nearer it comes to the sum of all admitted requests. It is never negative. No clock and no
 * I/O; each call is O(1).
 *
 * Readings are in any unit; `limit` is the reading at which nothing is left, in that unit.
 */
export class Reservation {
  /** Requests admitted since the last sample. */
  admitted = 0
  /** Learned amount that one admission adds; at least 0. */
  growth = 0
  /** Learned amount that one finish takes away; from 0 to `growth`. */
  release = 0
  /** Variance of the change that one request brings. */
  variance = 0
  /** Samples that were learned from. */
  samples = 0

  readonly #limit: number
  #finished = 0
  #inFlightThen = 0
  // The reading and the requests in flight at the last sample that was learned from.
  #learnedAt: number = Number.NaN
  #learnedInFlight = 0
  #admittedSince = 0
  #finishedSince = 0
  // Weighted sums of products; a: admitted, f: finished, d: the change of the reading.
  #aa = 0
  #af = 0
  #ff = 0
  #ad = 0
  #fd = 0
  // The same sums over rises of the reading only: of the rise, and of the admissions.
  #risen = 0
  #admittedRising = 0
  /** The reading from which rises are counted, and the admissions since. */
  #risenFrom: number = Number.NaN
  #admittedThen = 0
  #finishedThen = 0
  #held = 0
  /** True once collections are reported. */
  #told = false

  constructor(limit: number) {
    this.#limit = limit
  }

  admit(requests = 1): void {
    this.admitted += requests
  }

  finish(requests = 1): void {
    this.#finished += requests
  }

  /**
   * Takes back an admission that never ran. It does not count as a finish: a finish returns the amount that a request
   * took, and this one took nothing. (If a sample came in between, that sample has already dropped the admission.)
   */
  undo(): void {
    if (this.admitted > 0) this.admitted--
  }

  /** Takes a good reading; `inFlight` is the number of requests running now. */
  sample(reading: number, inFlight: number): void {
    this.#rose(reading)
    this.#admittedSince += this.admitted
    this.#finishedSince += this.#finished
    const requests = this.#admittedSince + this.#finishedSince
    const change = reading - this.#learnedAt
    // A small number of requests teaches nothing yet; it is added to the next sample.
    if (requests >= LEAST_REQUESTS || Number.isNaN(change)) {
      // Requests that came and went since the last sample cancel out: only those present at either end can differ.
      const seen = Math.max(1, Math.min(requests, inFlight + this.#learnedInFlight))
      if (!Number.isNaN(change) && !this.#isCollection(change, seen)) this.#learn(change, requests, seen)
      this.#learnFrom(reading, inFlight)
    }
    this.#begin(inFlight)
  }

  /**
   * Takes a reading just after a garbage collection: the size of the fall teaches nothing. `held` is the size of a
   * request as learned from such readings.
   */
  collected(reading: number, inFlight: number, held: number): void {
    this.#rose(reading)
    this.#told = true
    this.#held = held
    this.#learnFrom(reading, inFlight)
    this.#begin(inFlight)
  }

  /**
   * Amount to add to the last sample now, at least 0; `inFlight` is the number of requests running now, and `reusable`
   * the amount that they can take without raising the reading.
   */
  reserved(inFlight: number, reusable = 0): number {
    const requests = this.admitted + this.#finished
    if (requests === 0) return 0
    const gross = this.size * this.admitted
    // Finished requests leave garbage and return nothing yet; sizes may vary like an exponential distribution.
    if (this.#told) return this.size * (this.admitted + Math.sqrt(this.admitted))
    const spread = Math.sqrt(this.variance * Math.min(requests, inFlight + this.#inFlightThen))
    const margin = MARGIN * (1 + UNSURE_SAMPLES / Math.max(1, this.samples))
    const given = Math.max(this.release * this.#finished, Math.min(reusable, this.rise * this.#finished))
    return Math.max(0, Math.min(gross, gross - given + margin * spread))
  }

  /** Upper bound of {@link reserved} after `more` further admissions, for any number of finishes meanwhile. */
  most(more: number): number {
    const admitted = this.admitted + more
    return this.size * (admitted + Math.sqrt(admitted))
  }

  /**
   * The amount per admission while readings rose, weighted towards large rises. If a collection frees memory that
   * finishes did not, or freed memory is reused, falls and flat stretches hide admissions, and least squares
   * underestimate the size.
   */
  get rise(): number {
    return this.#admittedRising > 0 ? this.#risen / this.#admittedRising : 0
  }

  /** Largest estimate of the amount that one admission adds. */
  get size(): number {
    return Math.max(this.growth, this.rise, this.#held)
  }

  #learnFrom(reading: number, inFlight: number): void {
    this.#learnedAt = reading
    this.#learnedInFlight = inFlight
    this.#admittedSince = 0
    this.#finishedSince = 0
  }

  #begin(inFlight: number): void {
    this.admitted = 0
    this.#finished = 0
    this.#inFlightThen = inFlight
  }

  /** A garbage collection: a fall that finishes do not explain. It says nothing about the size of requests. */
  #isCollection(change: number, seen: number): boolean {
    const expected = -this.release * this.#finishedSince - SURPRISE * Math.sqrt(this.variance * seen)
    return this.samples >= LEAST_SAMPLES && change < expected - COLLECTION * this.#limit
  }

  /** Learns from a reading that is higher than the one before, if requests were admitted in between. */
  #rose(reading: number): void {
    this.#admittedThen += this.admitted
    this.#finishedThen += this.#finished
    const requests = this.#admittedThen + this.#finishedThen
    const rise = Math.max(0, reading - this.#risenFrom)
    if (requests > 0 && rise >= 0) {
      const prior = (1 - MEMORY) * LEAST_RISES * this.#limit
      this.#risen = this.#risen * MEMORY + (rise * rise) / requests + prior * this.growth
      this.#admittedRising = this.#admittedRising * MEMORY + (rise * this.#admittedThen) / requests + prior
    }
    this.#risenFrom = reading
    this.#admittedThen = 0
    this.#finishedThen = 0
  }

  #learn(change: number, requests: number, seen: number): void {
    const predicted = this.growth * this.#admittedSince - this.release * this.#finishedSince
    this.#fit(change, 1 / requests)
    // An out-of-sample error is that of a prediction; the first few samples have no prediction.
    const fitted = this.growth * this.#admittedSince - this.release * this.#finishedSince
    const residual = change - (this.samples > LEAST_SAMPLES ? predicted : fitted)
    this.samples++
    const error = Math.min(residual ** 2, (LARGEST_RESIDUAL * this.#limit) ** 2) / seen
    this.variance += (error - this.variance) * Math.max(1 / this.samples, VARIANCE_GAIN)
  }

  /** Least squares of change = growth·admitted - release·finished, with release drawn towards growth. */
  #fit(change: number, weight: number): void {
    const admitted = this.#admittedSince
    const finished = this.#finishedSince
    this.#aa = this.#aa * MEMORY + weight * admitted * admitted
    this.#af = this.#af * MEMORY - weight * admitted * finished
    this.#ff = this.#ff * MEMORY + weight * finished * finished
    this.#ad = this.#ad * MEMORY + weight * admitted * change
    this.#fd = this.#fd * MEMORY - weight * finished * change

    const ridge = RIDGE * (this.#aa + this.#ff)
    const aa = this.#aa + ridge
    const af = this.#af - ridge
    const ff = this.#ff + ridge
    const determinant = aa * ff - af * af
    // Finishes have always equalled admissions: the two cannot be distinguished, and the estimates stay.
    if (determinant <= 1e-12 * aa * ff) return
    let growth = (this.#ad * ff - this.#fd * af) / determinant
    let release = (this.#fd * aa - this.#ad * af) / determinant
    if (release <= 0) {
      release = 0
      growth = this.#aa > 0 ? this.#ad / this.#aa : 0
    } else if (release > growth) {
      growth = (this.#ad + this.#fd) / (this.#aa + 2 * this.#af + this.#ff)
      release = growth
    }
    this.growth = Math.max(0, growth)
    this.release = Math.min(release, this.growth)
  }
}
