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
