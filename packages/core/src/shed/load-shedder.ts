import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Mechanism, Passage, Stage } from '../admission/stage.js'
import { type Clock, steady, systemClock } from '../clock.js'
import { requireAbove, requireFunction, requireInteger, requireNumber, requireOptions } from '../options.js'
import { coinRandom, type Random } from '../random.js'
import { heard } from '../rejection.js'
import { CALM_DECISIONS, Probe, type SignalSnapshot } from './probe.js'
import { type LoadShedderOptions, SHED_OPTIONS, type ShedOptions, signalsOf } from './signal.js'

/** Retry-After at probability 0, and the addition at probability 1, in milliseconds. */
const SOONEST_RETRY_MS = 1_000
const LONGER_RETRY_MS = 4_000

/** A request, if the shedder is used without a gate. */
export interface ShedRequest {
  /** A whole number from -2 (refused first) to 2 (refused last). @default 0 */
  priority?: number
  /** True for requests that must never be refused (health checks). They are still counted. @default false */
  exempt?: boolean
  /** The flow's credit, in requests, from a stage that tracks it: with 1 or more the request is spared. */
  credit?: number
}

/** An admitted request, if the shedder is used without a gate. */
export interface ShedPermit {
  readonly admitted: true
  /** Must be called when the request has ended, with any result. Calling it again does nothing. */
  finish(): void
}

/** Counts of a {@link LoadShedder} since it was made, and each of its signals. */
export interface ShedSnapshot {
  /** Admitted requests, `exempted` and `trickled` ones included. */
  admitted: number
  refused: number
  finished: number
  inFlight: number
  /** Admitted because they were exempt. */
  exempted: number
  /** Admitted against the draw, because no request had been admitted for `trickleMs`. */
  trickled: number
  signals: SignalSnapshot[]
}

/**
 * Refuses a random share of requests that grows with the load of this process.
 *
 * The load is one or several signals. The largest of their probabilities counts, and one draw decides. At least one
 * request is admitted every `trickleMs`, so that readings stay current, and no wrong reading shuts a service down for
 * ever. Exempt requests are always admitted; they count, because they use memory too.
 *
 * A stage of a gate, also usable alone through {@link LoadShedder.tryAdmit}. It has no timer: a signal is sampled by
 * the first decision after `sampleEveryMs`. A decision that takes no sample allocates nothing unless it refuses.
 *
 * @see "Graceful degradation with the logistic function", 2022: the curve. The rest is ours, see docs/shedding.md.
 */
export class LoadShedder implements Stage {
  readonly name = 'shed'

  readonly #clock: Clock
  readonly #random: Random
  readonly #trickleMs: number
  readonly #probes: readonly Probe[]
  /** Those whose curve may change at any time. */
  readonly #unsteady: readonly Probe[]
  readonly #hold: Hold
  readonly #totals = { admitted: 0, refused: 0, finished: 0 }
  #exempted = 0
  #trickled = 0
  #inFlight = 0
  /** Last admission of a request that could have been refused. */
  #admittedAtMs: number = Number.NEGATIVE_INFINITY
  /** The probability at the last decision, and the probe it came from. */
  #probability = 0
  #decider: Probe | undefined
  /** Decisions left, until this time, for which no signal needs a look: none can refuse. */
  #calm = 0
  #calmUntilMs = 0

  constructor(options: LoadShedderOptions) {
    const signals = signalsOf(options)
    const { sampleEveryMs = 100, trickleMs = 1_000, clock = systemClock, random = coinRandom } = options
    requireNumber('sampleEveryMs', sampleEveryMs, 1)
    requireAbove('trickleMs', trickleMs, 0)
    requireFunction('clock', clock)
    requireFunction('random', random)
    this.#clock = steady(clock)
    this.#random = random
    this.#trickleMs = trickleMs
    this.#probes = signals.map((signal) => new Probe(signal, sampleEveryMs, this.#totals))
    this.#unsteady = this.#probes.filter(({ signal }) => signal.standsUntilMs === undefined)
    this.#hold = {
      finish: (_outcome: Outcome) => this.#finish(),
      undo: (_refusal: Refusal) => this.#undo(),
    }
    for (const probe of this.#probes)
      probe.signal.attach?.({
        clock: this.#clock,
        totals: this.#totals,
        push: (reading) => {
          this.#calm = 0
          probe.push(reading, this.#clock(), this.#inFlight)
        },
        collected: (reading) => {
          this.#calm = 0
          probe.collected(reading, this.#clock(), this.#inFlight)
        },
      })
  }

  /** Decides for the gate. Takes the time from `passage`; all requests share one hold. */
  admit(passage: Passage): Hold | Refusal {
    const { nowMs } = passage
    return this.#letsIn(nowMs, passage, passage.priority, passage.exempt) ? this.#hold : this.#refusal(nowMs)
  }

  /** Decides without a gate: reads the clock, and returns a permit that counts its end once. */
  tryAdmit(request: ShedRequest = {}): ShedPermit | Refusal {
    const { priority = 0, exempt = false } = request
    requireInteger('priority', priority, -2, 2)
    const nowMs = this.#clock()
    if (!this.#letsIn(nowMs, request, priority, exempt)) return this.#refusal(nowMs)
    let running = true
    return {
      admitted: true,
      finish: () => {
        if (running) this.#finish()
        running = false
      },
    }
  }

  /** Plain JSON for people, metrics and pages. Reads no signal, so a snapshot costs little and starts nothing. */
  snapshot(): ShedSnapshot {
    const nowMs = this.#clock()
    return {
      ...this.#totals,
      inFlight: this.#inFlight,
      exempted: this.#exempted,
      trickled: this.#trickled,
      signals: this.#probes.map((probe) => probe.snapshot(nowMs, this.#inFlight)),
    }
  }

  /** Stops everything that the signals have started. */
  close(): void {
    for (const { signal } of this.#probes) signal.close?.()
  }

  #letsIn(
    nowMs: number,
    borrower: { readonly credit?: number | undefined },
    priority: number,
    exempt: boolean,
  ): boolean {
    // Signals are read for exempt requests too: there may be no others.
    this.#probability = 0
    const isCalm = this.#calm-- > 0 && nowMs < this.#calmUntilMs
    if (!isCalm || this.#unsteady.some(({ curve, signal }) => curve !== signal.curve))
      this.#look(nowMs, borrower, priority)
    if (exempt) {
      this.#exempted++
    } else {
      // random() < 1, so a probability of 1 always refuses.
      if (this.#probability > 0 && heard(this.#random()) < this.#probability) {
        if (nowMs - this.#admittedAtMs < this.#trickleMs) {
          this.#totals.refused++
          return false
        }
        this.#trickled++
      }
      // A health check each second must not replace the request that is admitted each second.
      this.#admittedAtMs = nowMs
    }
    this.#totals.admitted++
    this.#inFlight++
    return true
  }

  /** Finds the largest probability of all signals. */
  #look(nowMs: number, borrower: { readonly credit?: number | undefined }, priority: number): void {
    const rise = riseOf(priority, undefined)
    let risen = rise
    this.#calm = CALM_DECISIONS
    this.#calmUntilMs = Number.POSITIVE_INFINITY
    for (const probe of this.#probes) {
      let probability = probe.probability(nowMs, this.#inFlight, rise)
      this.#calmUntilMs = Math.min(this.#calmUntilMs, probe.calmUntilMs)
      if (probability <= this.#probability) continue
      // Credit raises the start of refusal; computing it takes time, so it is read last.
      if (risen === rise) risen = riseOf(priority, borrower.credit)
      if (risen !== rise) probability = probe.chance(risen)
      if (probability <= this.#probability) continue
      this.#probability = probability
      this.#decider = probe
    }
  }

  #refusal(nowMs: number): Refusal {
    const probability = this.#probability
    // A shortage of memory or of CPU passes in about the seconds that requests last. While few requests are refused, an
    // early retry is likely to succeed; near the top of the range, a retry every second would add to the overload.
    const retryAfterMs = Math.round(SOONEST_RETRY_MS + LONGER_RETRY_MS * probability)
    const decider = this.#decider
    return refuse(this.name, 'overload', decider?.doubted !== true, retryAfterMs, {
      signal: decider?.signal.name,
      load: decider?.load,
      reserved: decider?.reserved,
      probability,
      ageMs: decider?.ageMs(nowMs),
    })
  }

  #finish(): void {
    if (this.#inFlight === 0) return
    this.#inFlight--
    this.#totals.finished++
  }

  /** Nothing ran: the reserve for the request is returned, and the undo teaches nothing about finishes. */
  #undo(): void {
    if (this.#inFlight === 0) return
    this.#inFlight--
    for (const probe of this.#probes) probe.undo()
  }
}

/**
 * Load shedding for `createGate({ shed })`. Each gate makes its own shedder from it. Throws a `TypeError` on an unknown
 * option; values are checked when the gate is made.
 */
export function loadShedder(options: ShedOptions): Mechanism<'shed'> {
  requireOptions('shed', options, SHED_OPTIONS)
  return {
    place: 'shed',
    stage: ({ clock, random }) => new LoadShedder({ ...options, clock, random } as LoadShedderOptions),
  }
}

/** Start of refusal for each priority, from -2 to 2: s in `from + s·(to - from)`. */
const RISES: readonly number[] = [-1, -0.5, 0, 0.75, 0.9]

/** Credit, in requests, from which a flow is spared. */
const CREDIT_OF_THE_QUIET = 1

/** Lowest start of refusal for flows with that credit, as a share of the range. */
const RISE_OF_THE_QUIET = 0.5

/**
 * The rise of a request: the position in the range at which refusing starts for it. See `Curve.probability`.
 *
 * `priority` is a whole number from -2 (refused first) to 2; anything else counts as 0. `credit` is the flow's
 * remaining credit by FAIR, in requests: with 1 or more the flow is not causing the shortage, and its refusal starts
 * halfway up the range at least. Without it, nothing changes.
 */
export function riseOf(priority: number, credit: number | undefined): number {
  const rise = RISES[priority + 2] ?? 0
  return credit !== undefined && credit >= CREDIT_OF_THE_QUIET ? Math.max(rise, RISE_OF_THE_QUIET) : rise
}
