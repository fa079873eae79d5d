/** Shortest window: this time, and this number of mean durations. */
const SHORTEST_MS = 200
const LEAST_DURATIONS = 2
/** Completions of a window if durations vary no more than those of an exponential distribution. */
const COMPLETIONS = 50
/** Largest multiple of these completions if durations vary more, and the time until which more are required. */
const MOST_VARIED = 10
const PATIENCE_MS = 5_000
/**
 * Largest ratio between the mean duration by Little's law and that of the ended requests: a window with the ends of two
 * batches and the area of three is off by more. And the longest extension of a window until both agree, in mean
 * durations.
 */
const AGREEMENT = 1.5
const MOST_DURATIONS = 10
/** Number of completions over which the variation of durations is averaged. */
const VARIATION_MEMORY = 100

/**
 * Measures how long requests take, in windows, by Little's law: the area under the number in flight, divided by the
 * number that ended. Requests that still run count too, so a window has no bias towards short requests. But a window
 * that opens just after the end of a batch, and closes just before the end of another, contains more area than ends, or
 * the reverse. So it is read only when the mean duration of the ended requests is about the same: then about as much is
 * in flight at its end as at its beginning.
 *
 * Slots stand for requests: the area is that of the slots taken, divided by the slots of those that ended. So a
 * duration counts as often as the request is wide. All times are elapsed milliseconds, handed in; no clock.
 *
 * @see J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961
 */
export class Window {
  #elapsedMs = 0
  #area = 0
  /** Part of the area that does not count as work. */
  #passedOver = 0
  /** Widths of the requests that ended without success, and the sum of the durations of all that ended, by width. */
  #lostWidths = 0
  #spent = 0
  /** Durations of the requests that succeeded, by width. */
  #durations = 0
  #squaredDurations = 0
  #completions = 0
  #widths = 0
  #squaredWidths = 0
  #peak = 0
  #mean = 0
  #variance = 0
  #seen = 0
  #leastMs = 0
  /** Area and widths of the first half of that time. */
  #halfArea = 0
  #halfWidths = 0

  /** Starts a window with `inFlight` slots taken, which lasts at least `leastMs`. */
  open(inFlight: number, leastMs = 0): void {
    this.#leastMs = leastMs
    this.#halfWidths = 0
    this.#elapsedMs = 0
    this.#area = 0
    this.#passedOver = 0
    this.#lostWidths = 0
    this.#spent = 0
    this.#durations = 0
    this.#squaredDurations = 0
    this.#completions = 0
    this.#widths = 0
    this.#squaredWidths = 0
    this.#peak = inFlight
  }

  /** Another `elapsedMs` have passed, during which `inFlight` slots were taken. */
  pass(elapsedMs: number, inFlight: number): void {
    this.#elapsedMs += elapsedMs
    this.#area += elapsedMs * inFlight
  }

  take(inFlight: number): void {
    if (inFlight > this.#peak) this.#peak = inFlight
  }

  /** A request succeeded after `durationMs`. */
  complete(width: number, durationMs: number): void {
    this.#completions++
    this.#widths += width
    if (this.#elapsedMs <= this.#leastMs / 2) {
      this.#halfArea = this.#area
      this.#halfWidths = this.#widths
    }
    this.#squaredWidths += width * width
    this.#seen = Math.min(this.#seen + 1, VARIATION_MEMORY)
    const part = 1 / this.#seen
    const lastedMs = finite(durationMs)
    this.#durations += width * lastedMs
    this.#spent += width * lastedMs
    this.#squaredDurations += width * lastedMs * lastedMs
    const off = lastedMs - this.#mean
    this.#mean += part * off
    this.#variance = (1 - part) * (this.#variance + part * off * off)
  }

  /**
   * A request ended after `durationMs` without success: it has used its slots for nothing, and shows no duration. A
   * time-out would show the same one however full the service is.
   */
  lose(width: number, durationMs: number): void {
    this.#lostWidths += width
    this.#spent += width * finite(durationMs)
  }

  /**
   * A request ended after `durationMs` and counts with the mean duration of the others. So it is left out of both area
   * and number.
   */
  passOver(width: number, durationMs: number): void {
    this.#passedOver += width * Math.min(finite(durationMs), this.#elapsedMs)
  }

  /**
   * Whether the window can be read: after 200 ms or its least length, two mean durations, and 50 completions, in the
   * first 5 s times the squared coefficient of variation of durations, from 1 to 10; and when both means agree, or
   * after ten mean durations.
   */
  get isDone(): boolean {
    const elapsedMs = this.#elapsedMs
    if (
      this.#completions === 0 ||
      elapsedMs < Math.max(SHORTEST_MS, this.#leastMs) ||
      elapsedMs < LEAST_DURATIONS * this.lastedMs
    )
      return false
    const endedMs = this.#spent / (this.#widths + this.#lostWidths)
    const longerMs = Math.max(this.lastedMs, endedMs)
    const agree = longerMs <= AGREEMENT * Math.min(this.lastedMs, endedMs)
    if (!agree && elapsedMs < MOST_DURATIONS * endedMs) return false
    const variation = elapsedMs < PATIENCE_MS ? this.#variance / this.#mean ** 2 : 1
    const needed = COMPLETIONS * Math.min(Math.max(variation, 1), MOST_VARIED)
    // Wide requests among narrow ones make a mean less certain: their effective number, (Σw)² / Σw² (Kish 1965).
    return this.#widths ** 2 >= needed * this.#squaredWidths
  }

  /** Time in flight for each request that succeeded, in milliseconds, by width; NaN or Infinity if none did. */
  get durationMs(): number {
    return (this.#area - this.#passedOver) / this.#widths
  }

  /** Time in flight for each request that ended, with or without success, in milliseconds. */
  get lastedMs(): number {
    return (this.#area - this.#passedOver) / (this.#widths + this.#lostWidths)
  }

  /** Mean duration of the last requests that succeeded, in milliseconds; 0 before the first. */
  get typicalMs(): number {
    return this.#mean
  }

  /** Its length so far, in milliseconds. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** Absolute logarithm of the ratio between the mean durations of its halves; NaN if it has no least length. */
  get drift(): number {
    const first = this.#halfArea / this.#halfWidths
    const second = (this.#area - this.#halfArea) / (this.#widths - this.#halfWidths)
    return Math.abs(Math.log(second / first))
  }

  /** Number of completions that would know the mean as well if durations were exponential. */
  get effective(): number {
    const variation = (this.#squaredDurations * this.#widths) / this.#durations ** 2 - 1
    return this.#widths ** 2 / this.#squaredWidths / Math.max(1, variation)
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

/** An invalid duration must not stay in the averages for ever. */
function finite(durationMs: number): number {
  return durationMs > 0 && durationMs < Number.POSITIVE_INFINITY ? durationMs : 0
}

/** Logarithm of the ratio between the upper and the lower end of a bucket. */
const BUCKET = /* @__PURE__ */ Math.log(1.05)
/** Lower end of the first bucket, in milliseconds; and the number of buckets, up to some three hours. */
const FIRST_MS = 0.01
const BUCKETS = 430

/**
 * A histogram of durations, to 5 %. Adding is O(1), queries and clearing are O(buckets); 3.4 kB, no further allocation.
 */
export class DurationHistogram {
  readonly #counts: Float64Array = new Float64Array(BUCKETS)
  #count = 0
  #sumMs = 0

  /** Number of durations. */
  get count(): number {
    return this.#count
  }

  /** Their mean in milliseconds; NaN if there are none. */
  get meanMs(): number {
    return this.#sumMs / this.#count
  }

  /** Multiplies the weight of all durations so far by `kept`, from 0 to 1. */
  fade(kept: number): void {
    for (let i = 0; i < BUCKETS; i++) this.#counts[i]! *= kept
    this.#count *= kept
    this.#sumMs *= kept
  }

  /** The quantile `p` of the durations, in milliseconds, to 5 %; 0 if there are none. */
  quantileMs(p: number): number {
    const rank = p * this.#count
    let below = 0
    for (let i = 0; i < BUCKETS; i++) {
      const count = this.#counts[i]!
      if (count > 0 && below + count >= rank) return FIRST_MS * Math.exp(BUCKET * (i + (rank - below) / count))
      below += count
    }
    return 0
  }

  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#sumMs = 0
  }

  /** An invalid duration counts as the shortest. */
  add(durationMs: number): void {
    const bucket = Math.floor(Math.log(durationMs / FIRST_MS) / BUCKET)
    const index = bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0
    this.#counts[index] = this.#counts[index]! + 1
    this.#count++
    if (durationMs > 0 && durationMs < Number.POSITIVE_INFINITY) this.#sumMs += durationMs
  }
}
