/** Last changes between windows, or within them, that show a swing, and their least number. */
const CHANGES = 15
const LEAST_CHANGES = 5
/** Multiple of the variance that so few changes may show by chance. */
const UNCERTAIN = 2
/** Windows over which the variance of rarer changes is averaged. */
const MEMORY = 100
/** Median of the absolute value of a normal variable, in standard deviations. */
const MEDIAN = 0.6745
/** Smaller part of the changes, and its mean square if changes are normal, in variances. */
const SMALLER = 0.8
const SMALLER_SQUARE = 0.4377
/** Variance of the logarithm of the ratio between the mean durations of two windows of 50 completions, by chance. */
const CHANCE = 2 / 50
/** Standard deviations of a swing that prove more than one: the windows of a look are further apart than neighbours. */
const BEYOND = 4
/** Logarithm of the change that a step of the limit may cause in a window of natural length. */
const STEP = /* @__PURE__ */ Math.log(1.1)
/** Range of the length of windows that average over a swing. */
const SHORTEST_MS = 400
const LONGEST_MS = 20_000

/** A window, as far as it shows a swing. */
export interface SwingReading {
  /** Its length, in milliseconds. */
  readonly elapsedMs: number
  /** Absolute logarithm of the ratio between the mean durations of its halves; NaN if unknown. */
  readonly drift: number
  /** Number of completions that would know the mean as well if durations were exponential. */
  readonly effective: number
}

/**
 * Knows by how much the durations of all requests rise and fall together, from window to window, by more than chance
 * and the steps of the limit explain, and how long a window must be to average over that.
 *
 * While the swing has a larger variance than chance, windows become twice as long; once their halves no longer differ
 * by more than chance does, half as long. Until then a difference must exceed four standard deviations of the swing.
 *
 * Between windows of natural length the median change counts, which one change of the service does not move, and the
 * mean square over 100 windows, which knows rarer changes. Longer windows may fall into two or three phases of a swing,
 * and a median is that of one of them: there the mean square of the smaller four fifths counts.
 */
export class Swing {
  /** Absolute logarithms of the ratios between neighbouring windows, less those of steps. */
  #changes: number[] = []
  /** The same between the halves of each window. */
  #drifts: number[] = []
  /** Mean square of the changes, over more of them. */
  #variance = 0
  #chance = CHANCE
  #windowMs = 0

  /** Least length of a window, in milliseconds; 0: as long as its completions need. */
  get windowMs(): number {
    return this.#windowMs
  }

  /** Factor by which durations must differ before the limit can be the cause; 1 if they change by chance alone. */
  get factor(): number {
    const unknown = this.#windowMs > 0 && this.#changes.length < LEAST_CHANGES
    return Math.exp(BEYOND * Math.sqrt(unknown ? this.#within : this.#between))
  }

  /** Takes a window. Returns whether the next ones must be longer. */
  read({ elapsedMs, drift, effective }: SwingReading): boolean {
    // Fewer completions than 50 know less; more know no more while the windows are short, since requests queue
    // together.
    this.#chance = Math.max(this.#windowMs > 0 ? 0 : CHANCE, 2 / effective)
    if (this.#windowMs > 0 && drift >= 0) keep(this.#drifts, drift)
    if (this.#changes.length >= LEAST_CHANGES && this.#between > this.#chance && elapsedMs < LONGEST_MS) {
      this.#windowMs = Math.min(LONGEST_MS, 2 * elapsedMs)
      this.#drifts = this.#changes
      this.#changes = []
      this.#variance = 0
      return true
    }
    if (this.#windowMs > 0 && this.#drifts.length >= CHANGES && this.#within < 2 * this.#chance) {
      this.#windowMs = this.#windowMs < SHORTEST_MS ? 0 : this.#windowMs / 2
      this.#changes = this.#drifts
      this.#drifts = []
    }
    return false
  }

  /** Durations are `ratio` times those of the window before, at a limit that is `steps` times the one before. */
  note(ratio: number, steps: number): void {
    const step = Math.max(this.#windowMs > 0 ? 0 : STEP, Math.abs(Math.log(steps)))
    const byItself = Math.max(0, Math.abs(Math.log(ratio)) - step)
    keep(this.#changes, byItself)
    this.#variance += (Math.min(byItself, 1) ** 2 - this.#variance) / MEMORY
  }

  /** Variance between windows that chance does not explain. */
  get #between(): number {
    const typical = this.#windowMs > 0 ? smallerSquare(this.#changes) : medianSquare(this.#changes)
    return Math.max(0, typical - UNCERTAIN * this.#chance, this.#variance - this.#chance)
  }

  /** Variance between windows of half the length. */
  get #within(): number {
    return Math.max(0, smallerSquare(this.#drifts) - 2 * UNCERTAIN * this.#chance)
  }
}

/** Appends to the last ones. */
function keep(changes: number[], change: number): void {
  changes.push(change)
  if (changes.length > CHANGES) changes.shift()
}

/** Variance by the median; 0 if there are too few changes. */
function medianSquare(changes: readonly number[]): number {
  const { length } = changes
  return length < LEAST_CHANGES ? 0 : ([...changes].sort((a, b) => a - b)[length >> 1]! / MEDIAN) ** 2
}

/** Variance by the mean square of the smaller ones; 0 if there are too few changes. */
function smallerSquare(changes: readonly number[]): number {
  if (changes.length < LEAST_CHANGES) return 0
  const count = Math.floor(SMALLER * changes.length)
  const smaller = [...changes].sort((a, b) => a - b).slice(0, count)
  return smaller.reduce((sum, change) => sum + change * change, 0) / count / SMALLER_SQUARE
}
