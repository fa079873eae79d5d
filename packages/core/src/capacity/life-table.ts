/**
 * Ages, in classes: the youngest in milliseconds, the classes for each doubling, and their number: up to three hours.
 */
const YOUNGEST_MS = 0.01
const PER_DOUBLING = 8
const CLASSES = 31 * PER_DOUBLING

/**
 * The number of requests in flight at each age, and the number that ended at it: the evidence about durations while
 * most requests still run. Two tables compare requests of the same age, so that neither unfinished slow requests nor a
 * different mix look like a slowdown.
 *
 * A class of ages is 9 % wide, and an end between two counts for both, the nearer one more. A request counts in a class
 * only if it was watched in the whole of it and the next: requests that start together and last equally long would
 * otherwise look slow until the first of them end.
 *
 * @see E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958
 */
export class LifeTable {
  /** Changes of the number in flight from one class to the next. */
  readonly #changes: Float64Array = new Float64Array(CLASSES + 2)
  readonly #ends: Float64Array = new Float64Array(CLASSES + 2)

  /** Adds a request that was watched from one age to another, and the age at which it ended, if it did. All in ms. */
  add(fromMs: number, untilMs: number, endMs: number = Number.POSITIVE_INFINITY): void {
    const first = fromMs > 0 ? Math.ceil(classOf(fromMs)) : 0
    const last = Math.floor(classOf(untilMs)) - 1
    if (endMs === Number.POSITIVE_INFINITY) {
      this.#count(first, last, 1)
      return
    }
    const end = classOf(endMs)
    const below = Math.floor(end)
    const above = end - below
    this.#count(first, Math.min(below, last), 1)
    this.#count(below + 1, Math.min(below + 1, last), above)
    if (below >= first && below <= last) this.#ends[below]! += 1 - above
    if (below + 1 >= first && below + 1 <= last) this.#ends[below + 1]! += above
  }

  /** Adds all data of `other`. */
  merge(other: LifeTable): void {
    for (let i = 0; i < CLASSES; i++) {
      this.#changes[i]! += other.#changes[i]!
      this.#ends[i]! += other.#ends[i]!
    }
  }

  /** Multiplies the weight of all data by `kept`, from 0 to 1. */
  fade(kept: number): void {
    for (let i = 0; i < CLASSES; i++) {
      this.#changes[i]! *= kept
      this.#ends[i]! *= kept
    }
  }

  /**
   * Standard errors by which fewer requests have ended than if they ended at each age at the rate of `other`: the
   * log-rank test. 0 without common data.
   *
   * @see N. Mantel, "Evaluation of survival data and two new rank order statistics", Cancer Chemotherapy Reports 50,
   *   1966
   */
  slowerThan(other: LifeTable): number {
    let [mine, others, missing, variance] = [0, 0, 0, 0]
    for (let i = 0; i < CLASSES; i++) {
      mine += this.#changes[i]!
      others += other.#changes[i]!
      const ends = this.#ends[i]! + other.#ends[i]!
      // Sums of fractions: a number in flight near zero is zero.
      if (ends <= 0 || mine < ROUNDING || others < ROUNDING) continue
      const share = mine / (mine + others)
      missing += ends * share - this.#ends[i]!
      variance += ends * share * (1 - share) * Math.max(0, 1 - ends / (mine + others))
    }
    return Math.abs(missing) < ROUNDING ? 0 : missing / Math.sqrt(variance)
  }

  #count(first: number, last: number, requests: number): void {
    if (first > last) return
    this.#changes[first]! += requests
    this.#changes[last + 1]! -= requests
  }
}

/** Tolerance for sums of fractions of a request. */
const ROUNDING = 1e-6

/** The class of an age, with the fraction of the way to the next. */
function classOf(ageMs: number): number {
  const place = PER_DOUBLING * Math.log2(ageMs / YOUNGEST_MS)
  return place > 0 ? Math.min(place, CLASSES - 1) : 0
}

/**
 * The ages of the requests in flight, and of those that ended in a round, from the times of starts and ends alone.
 * Requests that started before its creation are left out. O(log n) per request, plus a move of the starts after its
 * own.
 */
export class Ages {
  #nowMs = 0
  /** Start times of the requests in flight, in order. */
  readonly #starts: number[] = []
  /** Start of each request with a noted end, the time until which it was watched, and of its success, or Infinity. */
  readonly #ended: number[] = []

  /** Forgets the noted ends. */
  clear(): void {
    this.#ended.length = 0
  }

  pass(elapsedMs: number): void {
    this.#nowMs += elapsedMs
  }

  /** A request starts. */
  start(): void {
    this.#starts.push(this.#nowMs)
  }

  /** The last one that started did not run. */
  undo(): void {
    this.#starts.pop()
  }

  /** A request ended after `durationMs`; `noted`: within a round. One without success was watched until then, only. */
  end(durationMs: number, noted: boolean, success: boolean = true): void {
    const startMs = this.#nowMs - Math.max(durationMs, 0)
    if (!(startMs >= -ROUNDING_MS) || this.#starts.length === 0) return
    this.#starts.splice(this.#placeOf(startMs), 1)
    if (noted) this.#ended.push(startMs, this.#nowMs, success ? this.#nowMs : Number.POSITIVE_INFINITY)
  }

  /** Life table of the last `forMs`, in which all ends were noted. */
  table(forMs: number): LifeTable {
    const table = new LifeTable()
    const nowMs = this.#nowMs
    const roundMs = nowMs - forMs
    for (const startMs of this.#starts) table.add(roundMs - startMs, nowMs - startMs)
    for (let i = 0; i < this.#ended.length; i += 3) {
      const startMs = this.#ended[i]!
      const endMs = this.#ended[i + 2]!
      // One that succeeded is out of the number in flight from its end on: nothing hides it until now.
      const untilMs = endMs === Number.POSITIVE_INFINITY ? this.#ended[i + 1]! : nowMs
      table.add(roundMs - startMs, untilMs - startMs, endMs - startMs)
    }
    return table
  }

  /** Index of the first start at `startMs` or later, or of the last one. */
  #placeOf(startMs: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#starts[middle]! < startMs - ROUNDING_MS) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Tolerance, because a start is computed as the end less the duration: sums of fractions. */
const ROUNDING_MS = 1e-6
