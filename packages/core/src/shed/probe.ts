import { show } from '../options.js'
import { heard } from '../rejection.js'
import { type Curve, startOf } from './curve.js'
import { LiveLoad } from './live-load.js'
import { riseOf } from './load-shedder.js'
import { Reservation } from './reservation.js'
import type { LoadSignal, ShedTotals, SignalKind } from './signal.js'

/** Sampling period while too little has been learned, in milliseconds. */
const FAST_START_MS = 50
/** Samples that end the fast start. */
const STARTED = 3
/** Sampling periods without a good reading after which a signal stops refusing. */
const STALE_AFTER = 10
/** Decisions that need no estimate if as many admissions could not raise any load to the start of refusal. */
export const CALM_DECISIONS = 100
/** The priorities whose chances a snapshot contains. */
const PRIORITIES = [-2, -1, 0, 1, 2]
const CURVE_STEPS = 21

/** The state of one signal, as plain JSON; loads in its own unit. */
export interface SignalSnapshot {
  name: string
  kind: SignalKind
  from: number
  to: number
  /** Last good reading; null before the first. */
  observed: number | null
  /** Part of `load` for requests admitted since its reading. */
  reserved: number
  /** Discount for memory that running requests do not explain. */
  relief: number
  /**
   * The load that decides about the next request: observed + reserved - relief. For a live signal, the load at the last
   * decision. Null without a reading.
   */
  load: number | null
  /** Chance of refusing an ordinary request at this load. */
  probability: number
  /** The same for each priority, from -2 to 2. */
  probabilities: number[]
  /** Its curve, for pictures: the chance of refusal of an ordinary request at 21 even steps from `from` to `to`. */
  curve: number[]
  /** Age of the reading behind `load`, in milliseconds; null before the first. */
  ageMs: number | null
  /** Learned: the load that one admission adds, and the load that one finish takes away. */
  growth: number
  release: number
  badSamples: number
  /** True if there was no good reading for 10 sampling periods: the signal is ignored until there is one. */
  stale: boolean
  /** The reason why the signal has no readings, or the last bad sample; null without a problem. */
  problem: string | null
}

/** One signal inside a shedder: reads it when due, tolerates bad readings, adds the reserve. */
export class Probe {
  readonly signal: LoadSignal
  /** Load at the last estimate, in the signal's unit; NaN without a reading. */
  load: number = Number.NaN
  /** Part of `load` for requests admitted since the reading. */
  reserved = 0

  readonly #live: boolean
  readonly #totals: ShedTotals
  /** The totals up to which its estimates have counted: they need them at a reading or an estimate, not before. */
  #admitted = 0
  #finished = 0
  readonly #limit: number
  readonly #everyMs: number
  /** The sampling period now. */
  #periodMs: number
  readonly #timed: Reservation | undefined
  readonly #relief: Relief | undefined
  #pushed: LiveLoad | undefined
  readonly #collected: LiveLoad = new LiveLoad()
  readonly #pushedRelief: Relief | undefined
  #reading: number = Number.NaN
  #triedAtMs: number = Number.NEGATIVE_INFINITY
  /** Time of the last good timed reading; before that, of the first attempt. */
  #goodAtMs: number = Number.NaN
  #pushedAtMs: number = Number.NaN
  #restsOnPushed = false
  /**
   * The time until which the next {@link CALM_DECISIONS} decisions need no reading and no estimate, unless a reading
   * comes by itself or the curve changes.
   */
  calmUntilMs = 0
  /** The signal's curve at the last estimate. */
  curve: Curve | undefined
  #badSamples = 0
  #stale = false
  #badReason: string | undefined

  constructor(signal: LoadSignal, sampleEveryMs: number, totals: ShedTotals) {
    this.signal = signal
    this.#totals = totals
    this.#live = signal.kind === 'live'
    this.#limit = signal.limit ?? signal.curve.to
    this.#everyMs = sampleEveryMs
    this.#periodMs = sampleEveryMs
    if (signal.kind === 'live' || signal.kind === 'sampled') return
    this.#timed = new Reservation(this.#limit)
    this.#periodMs = Math.min(FAST_START_MS, sampleEveryMs)
    if (signal.relief ?? false) {
      this.#relief = new Relief()
      this.#pushedRelief = new Relief()
    }
  }

  /** Chance that this signal refuses a request of this `rise` at `nowMs`; reads the signal first if that is due. */
  probability(nowMs: number, inFlight: number, rise: number): number {
    const { signal } = this
    if (this.#live) {
      this.#sample(nowMs, inFlight)
      this.load = this.#stale ? Number.NaN : this.#reading
    } else {
      this.#count()
      if (nowMs - this.#triedAtMs >= this.#periodMs && signal.due !== false) this.#sample(nowMs, inFlight)
      this.#estimate(inFlight)
    }
    this.curve = signal.curve
    const most = this.#live ? this.load : this.#most(inFlight + CALM_DECISIONS)
    const dueMs = this.#live ? signal.standsUntilMs : this.#triedAtMs + this.#periodMs
    this.calmUntilMs = most < startOf(this.curve, riseOf(-2, undefined)) ? (dueMs ?? Number.NaN) : Number.NaN
    return this.chance(rise)
  }

  /** Chance that the load at the last estimate refuses a request of this `rise`. */
  chance(rise: number): number {
    return this.load >= 0 ? this.signal.curve.probability(this.load, rise) : 0
  }

  /** True while the reading seems to stay high for reasons that refusing requests does not change. */
  get doubted(): boolean {
    return this.#reliefNow() > 0
  }

  /** An admission never ran. */
  undo(): void {
    this.#count()
    this.#timed?.undo()
    this.#pushed?.undo()
  }

  /** Takes a reading that the signal pushes. It does not show that timed readings are good, too. */
  push(reading: number, nowMs: number, inFlight: number): void {
    if (!this.#isGood(reading)) return
    this.#count()
    this.#pushed ??= new LiveLoad()
    const held = this.#pushed.held * inFlight
    const elapsedMs = Math.min(nowMs - this.#pushedAtMs, LONGEST_STEP_MS)
    this.#pushedRelief?.sample(reading, held, elapsedMs, this.signal.curve)
    this.#pushed.sample(reading, inFlight)
    this.#pushedAtMs = nowMs
  }

  /** Takes a reading just after a garbage collection. */
  collected(reading: number, nowMs: number, inFlight: number): void {
    if (!this.#isGood(reading)) return
    this.#count()
    this.#collected.sample(reading, inFlight)
    this.#timed?.collected(reading, inFlight, this.#collected.held)
    this.#good(reading, nowMs)
  }

  /** Age at `nowMs` of the reading behind `load`, in milliseconds; NaN before the first. */
  ageMs(nowMs: number): number {
    const readAtMs = this.#restsOnPushed ? this.#pushedAtMs : this.#goodAtMs
    return Number.isNaN(this.#reading) ? Number.NaN : Math.max(0, nowMs - readAtMs)
  }

  snapshot(nowMs: number, inFlight: number): SignalSnapshot {
    this.#count()
    if (!this.#live) this.#estimate(inFlight)
    const { curve, kind = 'reserved', name } = this.signal
    const held = this.#restsOnPushed ? this.#pushed?.held : undefined
    return {
      name,
      kind,
      from: curve.from,
      to: curve.to,
      observed: numberOrNull(this.#reading),
      reserved: this.reserved,
      relief: this.#reliefNow(),
      load: numberOrNull(this.load),
      probability: this.chance(0),
      probabilities: PRIORITIES.map((one) => this.chance(riseOf(one, undefined))),
      curve: Array.from({ length: CURVE_STEPS }, (_, i) =>
        curve.probability(curve.from + ((curve.to - curve.from) * i) / (CURVE_STEPS - 1)),
      ),
      ageMs: numberOrNull(this.ageMs(nowMs)),
      growth: held ?? this.#timed?.growth ?? 0,
      release: held ?? this.#timed?.release ?? 0,
      badSamples: this.#badSamples,
      stale: this.#stale,
      problem: this.signal.problem ?? this.#badReason ?? null,
    }
  }

  /** Counts the admissions and ends since the last call. */
  #count(): void {
    const { admitted, finished } = this.#totals
    this.#timed?.admit(admitted - this.#admitted)
    this.#timed?.finish(finished - this.#finished)
    this.#pushed?.pass(admitted - this.#admitted + finished - this.#finished)
    this.#admitted = admitted
    this.#finished = finished
  }

  #reliefNow(): number {
    return (this.#restsOnPushed ? this.#pushedRelief : this.#relief)?.amount ?? 0
  }

  #sample(nowMs: number, inFlight: number): void {
    // The first attempt starts the count: otherwise a signal that never worked would never become stale.
    if (this.#triedAtMs === Number.NEGATIVE_INFINITY) this.#goodAtMs = nowMs
    this.#triedAtMs = nowMs
    let reading: unknown
    try {
      reading = this.signal.read(nowMs)
    } catch (error) {
      reading = error
    }
    if (!this.#isGood(reading)) {
      this.#stale = nowMs - this.#goodAtMs >= STALE_AFTER * this.#everyMs
      return
    }
    if (this.#timed !== undefined) {
      this.#relief?.sample(reading, this.#timed.growth * inFlight, nowMs - this.#goodAtMs, this.signal.curve)
      this.#timed.sample(reading, inFlight)
      if (this.#timed.samples >= STARTED) this.#periodMs = this.#everyMs
    }
    this.#good(reading, nowMs)
  }

  #good(reading: number, nowMs: number): void {
    this.#reading = reading
    this.#goodAtMs = nowMs
    this.#stale = false
    this.#badReason = undefined
  }

  /**
   * A broken meter must not shut the service down: without good readings the load is unknown, and nothing is refused.
   */
  #estimate(inFlight: number): void {
    const reserved = this.#timed?.reserved(inFlight, this.#relief?.amount) ?? 0
    const least = this.#collected.least(inFlight, this.#reading, this.#timed?.size)
    this.reserved = least > 0 ? Math.max(reserved, least - this.#reading) : reserved
    this.load = this.#stale ? Number.NaN : this.#reading + this.reserved - (this.#relief?.amount ?? 0)
    this.#restsOnPushed = false
    if (this.#pushed === undefined || this.#stale) return
    const used = this.#reading + this.reserved
    const predicted = this.#pushed.load(inFlight, this.#timed?.growth ?? Number.POSITIVE_INFINITY, used)
    // The total in use is the upper bound.
    if (predicted === used) return
    this.load = predicted - (this.#pushedRelief?.amount ?? 0)
    this.reserved = predicted - this.#pushed.observed
    this.#restsOnPushed = true
  }

  /**
   * Upper bound of the load, without another reading, once `inFlight` requests run, {@link CALM_DECISIONS} of them new.
   */
  #most(inFlight: number): number {
    const used = this.#reading + (this.#timed?.most(CALM_DECISIONS) ?? 0)
    const least = this.#collected.least(inFlight, this.#reading, this.#timed?.size)
    return Math.max(used, least, this.#pushed?.most(inFlight, this.#timed?.growth) ?? 0)
  }

  /** Whether a reading is a load; notes the problem if not. */
  #isGood(reading: unknown): reading is number {
    if (typeof reading === 'number' && reading >= 0 && reading < Number.POSITIVE_INFINITY) return true
    heard(reading)
    this.#badSamples++
    this.#badReason = reading instanceof Error ? `read threw: ${reading.message}` : `bad sample: ${show(reading)}`
    return false
  }
}

function numberOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

/** Time constant of the discount, in milliseconds. */
const RELIEF_MS = 10_000
/** The discount shrinks by this multiple of a rise. */
const RETREAT = 4
/**
 * Longest pause that counts: all of the discount at once would leave no margin for the requests after it. And the
 * longest time between two collections: requests may have come and gone meanwhile.
 */
const LONGEST_PAUSE_MS = 5_000
const LONGEST_STEP_MS = 1_000

/**
 * The discount of a reading that is high although hardly any requests run: memory that an allocator keeps, garbage that
 * is not collected yet, and memory of the service's own. Refusing requests frees none of it, and can even preserve it,
 * because it is the allocations of requests that trigger its collection or reuse it.
 *
 * The discount grows slowly while the part that running requests do not explain is in the range of the curve: during a
 * pause, too, which shows what remains if all requests are refused. It shrinks quickly when that part exceeds its
 * earlier maximum. No clock; O(1).
 */
export class Relief {
  /** The discount: at least 0, and at most the unexplained part's excess over `from`. */
  amount = 0

  #highest: number = Number.NEGATIVE_INFINITY

  /** Takes a good reading, `elapsedMs` after the one before; `held` is the part that running requests explain. */
  sample(reading: number, held: number, elapsedMs: number, { from }: { from: number }): void {
    const unheld = reading - held
    const excess = unheld - from
    if (excess <= 0) {
      this.amount = 0
      this.#highest = unheld
      return
    }
    if (unheld > this.#highest) this.amount -= RETREAT * (unheld - this.#highest)
    else this.amount += ((excess - this.amount) * Math.min(elapsedMs, LONGEST_PAUSE_MS)) / RELIEF_MS
    this.#highest = Math.max(unheld, this.#highest)
    this.amount = Math.max(0, Math.min(this.amount, excess))
  }
}
