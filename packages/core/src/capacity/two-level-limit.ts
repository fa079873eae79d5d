/** The lower of the two levels, as a share of the limit. */
const LOWER = 0.75
/**
 * Target ratio of the durations at the limit and at the lower level. If both levels are saturated, the ratio is 1.33.
 */
const TOLERANCE = 1.3
/** Busy windows over which the ratio of durations at L to the baseline is averaged. */
const RATIO_MEMORY = 3
/** Busy windows from one look at the lower level to the next, if nothing calls for one earlier. */
const LOOK_EVERY = 16
/** Range of durations, as multiples of the baseline, in which the baseline is trusted. */
const SURPRISINGLY_SHORT = 0.8
const SURPRISINGLY_LONG = 1.95
/** If the limit falls below this share of its value at the last look, a new look must confirm the fall. */
const CONFIRMED = 0.95
/** Durations below this multiple of the baseline, twice in a row, show that the limit is far too small. */
const CALM = 1.12
/** Largest step, as a factor: in general, up or down alike, so that chance alone leads nowhere; and up while calm. */
const STEEPEST = 1.1
const STEEPEST_CALM_RISE = 1.5
/** Mean share of the limit in use from which on a window counts as evidence about the limit. */
const BUSY = 0.8
/** Share of the limit in use below which a window shows durations without congestion. */
const QUIET = 0.5
/** Tolerance for sums of fractional widths. */
const ROUNDING = 1e-9
/**
 * Longest look, as a multiple of a window at L: three quarters of the slots need four thirds of the time where no
 * request waits for another, and chance and swings make that longer.
 */
const LONGEST_LOOK = 4
/** Longest time to settle: a machine that slept for an hour has measured an hour. */
const LONGEST_SETTLE_MS = 60_000

/** The measurements of a window. */
export interface WindowReading extends SwingReading {
  /** Time in flight for each request that succeeded, in milliseconds. */
  readonly durationMs: number
  /** The same for each that ended, with or without success. */
  readonly lastedMs: number
  /** Mean number of slots taken. */
  readonly meanInFlight: number
  /** Most slots taken at once. */
  readonly peak: number
  /** Mean width of a request. */
  readonly meanWidth: number
}

/**
 * Finds the number of slots just above the knee, from which on requests only wait for each other, by comparing
 * durations at two levels of the limit: L, and now and then ("a look") three quarters of it.
 *
 * Below the knee durations are the same at both; far above it they are as 4 to 3, because twice as much in flight takes
 * twice as long. The limit settles where durations D(L) are 1.3 · D(0.75 L): about 1.3 times the knee, with the
 * lower level just below it. The baseline B is never a remembered minimum but what D is *now* with a little more room,
 * so that it cannot drift, and a service that has become slower is distinguished from one that is too full.
 *
 * 1. A busy window at L multiplies it by the square root of g = 1.3 · B / D, at most 10 % up; by g, at most 50 % up,
 *    after two windows with D < 1.12 · B; at most 10 % down. A rise below one slot becomes one, or 4 (g - 1) if that is
 *    less and more than the rise.
 * 2. After 16 such windows, at the first, when D leaves [0.8, 1.95] · B, and when L has fallen by more than 5 % since
 *    the last look: look. The limit is ⌊0.75 L⌋ for one D to settle, then for one window, which gives D'.
 * 3. D / D' > 1.3: 0.75 L is still too much. L becomes that, and the next look follows at once. Otherwise B becomes the
 *    mean of B and D', or D' if they differ by more than 1.3 times, and L is restored.
 *
 * Where D swings by itself, windows become longer, until they average over that. Until then a fall, a cut and a
 * surprise need a ratio beyond the swing: the rise of all durations at once is no evidence.
 *
 * A window that is not busy (mean below 0.8 of the limit, or never at it) moves nothing: an idle service learns no
 * limit. Pure arithmetic on the given durations; it reads no clock. O(1).
 *
 * The ratio of durations is that of TCP Vegas and of Gradient2 in Netflix's concurrency-limits; the regular look below,
 * instead of a remembered best, is BBR's. The two levels are ours, see docs/decisions/adaptive-limit.md.
 *
 * @see L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13, 1995
 * @see N. Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14, 2016
 */
export class TwoLevelLimit {
  readonly #min: number
  readonly #max: number
  /** L, with fractions, so that small steps add up. */
  #level: number
  /** The limit in force: ⌊L⌋, or the lower level. */
  #limit: number
  /** B; NaN before the first look. */
  #baselineMs: number = Number.NaN
  /** D of the last busy window at L. */
  #durationMs: number = Number.NaN
  /** The limit at which that was. */
  #measuredAt = 0
  /** D / B of the last busy windows at L, averaged; NaN before there was one. */
  #ratio: number = Number.NaN
  #looking = false
  /** L at the last look. */
  #confirmed = 0
  #windowsSinceLook: number = LOOK_EVERY - 1
  #calmWindows = 0
  #settleMs = 0
  /** Length of the last busy window at L. */
  #windowMs = 0
  /** Time in flight for each request that ended in the last window. */
  #lastedMs = 0
  readonly #swing: Swing

  /** `initial`, `min` and `max` are whole numbers, 1 <= min <= initial <= max; `before`: the rule to continue. */
  constructor(initial: number, min: number, max: number, before?: TwoLevelLimit) {
    this.#swing = before ? before.#swing : new Swing()
    this.#min = min
    this.#max = max
    this.#level = initial
    this.#limit = initial
  }

  /** Slots at present: a whole number from `min` to `max`. */
  get limit(): number {
    return this.#limit
  }

  /** Delay from the last reading to the start of the next window, so that the window shows the effect of the change. */
  get settleMs(): number {
    return this.#settleMs
  }

  /** True while the limit is the lower level, for a look. */
  get looking(): boolean {
    return this.#looking
  }

  /**
   * Time after which a look has shown enough: if the slots above the lower level were in vain, it would be over. But
   * requests that last far longer than others may fill all of the lower level, and then nothing ends.
   */
  get lookMs(): number {
    return this.#settleMs + LONGEST_LOOK * Math.max(this.#windowMs, this.windowMs)
  }

  /** B, in milliseconds; NaN before it is known. */
  get baselineMs(): number {
    return this.#baselineMs
  }

  /**
   * Whether the slots above the lower level add hardly any throughput: durations grow by more than the square root of
   * the growth in flight, so completions grow by less than that. Then a higher limit is not worth a try. A third more
   * in flight explains a ratio of 4 to 3; a surprising one says that the baseline is outdated.
   */
  get saturated(): boolean {
    return this.#ratio > Math.max(Math.sqrt(1 / LOWER), this.swing) && this.#ratio <= SURPRISINGLY_LONG
  }

  /** Factor by which durations must differ before the limit can be the cause. */
  get swing(): number {
    return this.#swing.factor
  }

  /** Least length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#swing.windowMs
  }

  /**
   * Takes the measurements of a window, and sets the limit for the next one; `cut`: of a look that has lasted for long
   * enough, whether anything has ended or not.
   */
  read(reading: WindowReading, cut = false): void {
    const { durationMs, lastedMs, meanInFlight, peak, meanWidth } = reading
    this.#settleMs = 0
    if (cut) {
      const longest = this.#durationMs / SURPRISINGLY_SHORT
      this.#compare(durationMs > 0 ? Math.min(durationMs, longest) : longest, reading.elapsedMs)
      return
    }
    this.#lastedMs = lastedMs
    if (!(durationMs > 0)) return
    // Full means that one more would not have fitted; slots that are free because the next request is wide are not
    // idle.
    const full = peak > this.#limit - meanWidth + ROUNDING
    const busy = full && meanInFlight >= BUSY * (this.#limit - Math.max(0, meanWidth - 1))
    if (this.#looking) {
      if (busy) this.#compare(durationMs, reading.elapsedMs)
      else this.#return()
    } else if (busy) {
      // The baseline of a shorter window is that of a moment.
      this.#windowMs = reading.elapsedMs
      if (this.#swing.read(reading)) this.#windowsSinceLook = LOOK_EVERY
      this.#steer(durationMs)
    } else if (meanInFlight < QUIET * this.#limit && this.#baselineMs > 0) {
      this.#baselineMs = (durationMs + Math.min(this.#baselineMs, durationMs)) / 2
    }
  }

  #steer(durationMs: number): void {
    const ratio = durationMs / this.#baselineMs
    if (this.#durationMs > 0) this.#swing.note(durationMs / this.#durationMs, this.#limit / this.#measuredAt)
    this.#durationMs = durationMs
    this.#measuredAt = this.#limit
    this.#ratio = this.#ratio > 0 ? this.#ratio + (ratio - this.#ratio) / RATIO_MEMORY : ratio
    this.#windowsSinceLook++
    // The first window after a look contains requests from the lower level.
    const { swing } = this
    const surprising =
      this.#windowsSinceLook > 1 &&
      (ratio > Math.max(SURPRISINGLY_LONG, swing) || ratio < Math.min(SURPRISINGLY_SHORT, 1 / swing))
    if (surprising || this.#windowsSinceLook >= LOOK_EVERY || this.#level < CONFIRMED * this.#confirmed) {
      this.#look()
      return
    }
    this.#calmWindows = ratio < CALM ? this.#calmWindows + 1 : 0
    const growth = TOLERANCE / ratio
    const factor =
      this.#calmWindows >= 2
        ? clamp(growth, 1 / STEEPEST, STEEPEST_CALM_RISE)
        : clamp(Math.sqrt(growth), 1 / STEEPEST, STEEPEST)
    let change = this.#level * (factor - 1)
    if (change > 0 && change < 1) change = Math.max(change, Math.min(1, 4 * (growth - 1)))
    if (change > 0 || ratio > swing) this.#setLevel(this.#level + change)
  }

  #look(): void {
    this.#looking = true
    this.#limit = Math.max(this.#min, Math.floor(LOWER * this.#level))
    this.#settle()
  }

  #compare(lowerMs: number, elapsedMs: number): void {
    if (this.#durationMs > Math.max(TOLERANCE, this.swing) * lowerMs && this.#level > this.#min) {
      this.#setLevel(LOWER * this.#level)
      this.#baselineMs = lowerMs
      this.#durationMs = lowerMs
      this.#windowMs = elapsedMs
      this.#measuredAt = this.#limit
      this.#look()
      return
    }
    const before = this.#baselineMs
    const near = lowerMs <= TOLERANCE * before && before <= TOLERANCE * lowerMs
    this.#baselineMs = near ? (before + lowerMs) / 2 : lowerMs
    // Ratios to an outdated baseline say nothing about the present service.
    if (!near) this.#ratio = this.#durationMs / lowerMs
    this.#confirmed = this.#level
    this.#windowsSinceLook = 0
    this.#calmWindows = 0
    this.#return()
  }

  #return(): void {
    this.#looking = false
    this.#setLevel(this.#level)
    this.#settle()
  }

  #settle(): void {
    this.#settleMs = Math.min(this.#lastedMs, LONGEST_SETTLE_MS)
  }

  #setLevel(level: number): void {
    this.#level = clamp(level, this.#min, this.#max)
    this.#limit = Math.floor(this.#level)
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

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
