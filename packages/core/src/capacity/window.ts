/** What a window lasts at least: this, and this many mean durations. */
const SHORTEST_MS = 200
const LEAST_DURATIONS = 2
/** Completions that a window needs, where durations vary as much as those of an exponential distribution, or less. */
const COMPLETIONS = 50
/** How many times more it needs at most where they vary more, and until when it asks for more at all. */
const MOST_VARIED = 10
const PATIENCE_MS = 5_000
/**
 * How many times longer the mean duration by Little's law may be than that of the requests that ended, or shorter: a
 * window that has seen the ends of two batches and the area of three is off by as much. And how many durations a window
 * goes on for at most until they agree.
 */
const AGREEMENT = 1.5
const MOST_DURATIONS = 10
/** Completions that the variation of durations is averaged over. */
const VARIATION_MEMORY = 100

/**
 * Measures how long requests take, in windows, by Little's law: the area under the number in flight, divided by the
 * number that ended. Requests that still run count too, so that a window has no bias towards those that end soon. But one
 * that opens just after a batch has ended, and closes in time for the third, has seen the area of two and the ends of
 * one, or the other way round. So a window is not read before the durations of those that ended say about the same:
 * then as much is under way at its end as there was at its beginning.
 *
 * Slots stand for requests: the area is that of the slots taken, divided by the slots of those that ended. So a
 * duration counts as often as the request is wide. All times are elapsed milliseconds, handed in; no clock.
 *
 * @see J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961
 */
export class Window {
  #elapsedMs = 0
  #area = 0
  /** Part of the area that is not counted as work. */
  #passedOver = 0
  /** Durations of those that ended, by width. */
  #durations = 0
  #completions = 0
  #widths = 0
  #squaredWidths = 0
  #peak = 0
  #mean = 0
  #variance = 0
  #seen = 0

  /** Starts a window with `inFlight` slots taken. */
  open(inFlight: number): void {
    this.#elapsedMs = 0
    this.#area = 0
    this.#passedOver = 0
    this.#durations = 0
    this.#completions = 0
    this.#widths = 0
    this.#squaredWidths = 0
    this.#peak = inFlight
  }

  /** `elapsedMs` more have gone by, during which `inFlight` slots were taken. */
  pass(elapsedMs: number, inFlight: number): void {
    this.#elapsedMs += elapsedMs
    this.#area += elapsedMs * inFlight
  }

  take(inFlight: number): void {
    if (inFlight > this.#peak) this.#peak = inFlight
  }

  /** A request ended after `durationMs`. */
  complete(width: number, durationMs: number): void {
    this.#completions++
    this.#widths += width
    this.#squaredWidths += width * width
    this.#seen = Math.min(this.#seen + 1, VARIATION_MEMORY)
    const part = 1 / this.#seen
    const lastedMs = finite(durationMs)
    this.#durations += width * lastedMs
    const off = lastedMs - this.#mean
    this.#mean += part * off
    this.#variance = (1 - part) * (this.#variance + part * off * off)
  }

  /**
   * A request ended after `durationMs` that is to count as if it had lasted the mean of the others. That comes to
   * leaving it out of both area and number.
   */
  passOver(width: number, durationMs: number): void {
    this.#passedOver += width * Math.min(finite(durationMs), this.#elapsedMs)
  }

  /**
   * Whether it has seen enough to be read: 200 ms, two mean durations, and 50 completions; in the first 5 s times the
   * squared coefficient of variation of durations, from 1 to 10. And up to ten mean durations, until both means agree.
   */
  get isDone(): boolean {
    const elapsedMs = this.#elapsedMs
    if (this.#completions === 0 || elapsedMs < SHORTEST_MS || elapsedMs < LEAST_DURATIONS * this.durationMs)
      return false
    const endedMs = this.#durations / this.#widths
    const longerMs = Math.max(this.durationMs, endedMs)
    const agree = longerMs <= AGREEMENT * Math.min(this.durationMs, endedMs)
    if (!agree && elapsedMs < MOST_DURATIONS * longerMs) return false
    const variation = elapsedMs < PATIENCE_MS ? this.#variance / this.#mean ** 2 : 1
    const needed = COMPLETIONS * Math.min(Math.max(variation, 1), MOST_VARIED)
    // Wide requests among narrow ones make a mean less certain: their effective number, (Σw)² / Σw² (Kish 1965).
    return this.#widths ** 2 >= needed * this.#squaredWidths
  }

  /** Mean duration in milliseconds, by width; NaN if nothing ended. */
  get durationMs(): number {
    return (this.#area - this.#passedOver) / this.#widths
  }

  /** Mean number of slots taken. */
  get meanInFlight(): number {
    return this.#area / this.#elapsedMs
  }

  /** Most slots taken at once. */
  get peak(): number {
    return this.#peak
  }

  /** Mean width of the requests that ended. */
  get meanWidth(): number {
    return this.#widths / this.#completions
  }
}

/** What is no duration must not stay in the averages for good. */
function finite(durationMs: number): number {
  return durationMs > 0 && durationMs < Number.POSITIVE_INFINITY ? durationMs : 0
}

/** How much longer the durations at the upper end of a bucket are than those at its lower end, as a logarithm. */
const BUCKET = Math.log(1.05)
/** The first bucket begins here, in milliseconds; and how many there are, up to some three hours. */
const FIRST_MS = 0.01
const BUCKETS = 430

/** How often which durations came, to 5 %. O(1) to add to, O(buckets) to ask or to clear; 3.4 kB, allocates no more. */
export class DurationHistogram {
  readonly #counts: Float64Array = new Float64Array(BUCKETS)
  #count = 0
  #sumMs = 0

  /** Durations that came. */
  get count(): number {
    return this.#count
  }

  /** Their mean in milliseconds; NaN if none came. */
  get meanMs(): number {
    return this.#sumMs / this.#count
  }

  /** What came so far counts for the share `kept` of what it did: 0 to 1. */
  fade(kept: number): void {
    for (let i = 0; i < BUCKETS; i++) this.#counts[i]! *= kept
    this.#count *= kept
    this.#sumMs *= kept
  }

  /** The duration that a share `p` of all stayed below, in milliseconds, to 5 %; 0 if none came. */
  quantileMs(p: number): number {
    return this.#count > 0 ? FIRST_MS * Math.exp(this.quantile(p).log) : 0
  }

  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#sumMs = 0
  }

  /** What is no duration counts as the shortest. */
  add(durationMs: number): void {
    const bucket = Math.floor(Math.log(durationMs / FIRST_MS) / BUCKET)
    const index = bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0
    this.#counts[index] = this.#counts[index]! + 1
    this.#count++
    if (durationMs > 0 && durationMs < Number.POSITIVE_INFINITY) this.#sumMs += durationMs
  }

  /**
   * The natural logarithm, to within a constant, of the duration that a share `p` of all stayed below, and the standard
   * error of that: half of what lies between the ranks one error of a binomial share to either side, whatever the
   * distribution. The error is infinite where there are too few for such ranks.
   */
  quantile(p: number): { log: number; error: number } {
    const rank = p * this.#count
    const off = Math.sqrt(rank * (1 - p))
    const known = rank - off > 0 && rank + off < this.#count
    const error = known ? (this.#at(rank + off) - this.#at(rank - off)) / 2 : Number.POSITIVE_INFINITY
    return { log: this.#at(rank), error }
  }

  #at(rank: number): number {
    let below = 0
    for (let i = 0; i < BUCKETS; i++) {
      const count = this.#counts[i]!
      if (count > 0 && below + count >= rank) return BUCKET * (i + (rank - below) / count)
      below += count
    }
    return BUCKET * BUCKETS
  }
}
