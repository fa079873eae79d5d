import type { Mechanism } from '../admission/mechanism.js'
import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage } from '../admission/stage.js'
import { type Clock, steady, systemClock } from '../clock.js'
import { requireAbove, requireFunction, requireInteger, requireNumber, requireOptions } from '../options.js'
import { coinRandom, type Random } from '../random.js'
import { type LoadShedderOptions, SHED_OPTIONS, type ShedOptions, signalsOf } from './options.js'
import { Probe, type SignalSnapshot } from './probe.js'

/** Retry-After at probability 0, and what a probability of 1 adds. */
const SOONEST_RETRY_MS = 1_000
const LONGER_RETRY_MS = 4_000

/** A request, where the shedder is used without a gate. */
export interface ShedRequest {
  /** From -2 (give it up first) to 2 (give it up last), whole. @default 0 */
  priority?: number
  /** True for what must never be refused (health checks). It is still counted. @default false */
  exempt?: boolean
  /** Requests' worth of credit that the flow holds, from a stage that knows: 1 or more spares it. */
  credit?: number
}

/** A request that was let in, where the shedder is used without a gate. */
export interface ShedPermit {
  readonly admitted: true
  /** To be called when the request has ended, whatever came of it. Calling it again does nothing. */
  finish(): void
}

/** What a {@link LoadShedder} has done since it was made, and each of its signals. */
export interface ShedSnapshot {
  /** Requests let in, `exempted` and `trickled` ones included. */
  admitted: number
  refused: number
  finished: number
  inFlight: number
  /** Let in because they were exempt. */
  exempted: number
  /** Let in although the draw said no, because none had been for `trickleMs`. */
  trickled: number
  signals: SignalSnapshot[]
}

/**
 * Refuses a random share of requests that grows with the load of this process.
 *
 * The load is one or several signals. The largest of their probabilities counts, and one draw decides. At least one
 * request is admitted every `trickleMs`, so that readings stay current, and no wrong reading closes a service for ever.
 * Exempt requests are always admitted; they count, because they use memory too.
 *
 * A stage of a gate, and useful alone by {@link LoadShedder.tryAdmit}. It has no timer: a signal is sampled by the
 * first decision after `sampleEveryMs`. A decision that takes no sample allocates nothing unless it refuses.
 *
 * @see "Graceful degradation with the logistic function", 2022: the curve. The rest is ours, see docs/shedding.md.
 */
export class LoadShedder implements Stage {
  readonly name = 'shed'

  readonly #clock: Clock
  readonly #random: Random
  readonly #trickleMs: number
  readonly #probes: readonly Probe[]
  /** Those that count what was let in since their reading. */
  readonly #reserving: readonly Probe[]
  readonly #hold: Hold
  readonly #totals = { admitted: 0, refused: 0, finished: 0 }
  #exempted = 0
  #trickled = 0
  #inFlight = 0
  /** Last time that a request was let in which might have been refused. */
  #admittedAtMs: number = Number.NEGATIVE_INFINITY
  /** What decided last. */
  #probability = 0
  #decider: Probe | undefined

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
    this.#probes = signals.map((signal) => new Probe(signal, sampleEveryMs))
    this.#reserving = this.#probes.filter((probe) => probe.reserves)
    this.#hold = {
      finish: (_outcome: Outcome) => this.#finish(),
      undo: (_refusal: Refusal) => this.#undo(),
    }
    for (const probe of this.#probes)
      probe.signal.attach?.({
        clock: this.#clock,
        totals: this.#totals,
        push: (reading) => probe.push(reading, this.#clock(), this.#inFlight),
        collected: (reading) => probe.collected(reading, this.#clock(), this.#inFlight),
      })
  }

  /** The gate's question. Takes the time from `passage`; the hold is one object for all. */
  admit(passage: Passage): Hold | Refusal {
    const { nowMs } = passage
    return this.#letsIn(nowMs, passage, passage.priority, passage.exempt) ? this.#hold : this.#refusal(nowMs)
  }

  /** The same without a gate: reads the clock, and gives a permit that counts its end once. */
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

  /** Plain JSON for people, metrics and pages. Reads no signal, so looking costs and starts nothing. */
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

  /** Stops what the signals have started. */
  close(): void {
    for (const { signal } of this.#probes) signal.close?.()
  }

  #letsIn(
    nowMs: number,
    borrower: { readonly credit?: number | undefined },
    priority: number,
    exempt: boolean,
  ): boolean {
    // Signals are read for exempt requests too: they may be the only ones there are.
    const rise = riseOf(priority, undefined)
    let risen = rise
    this.#probability = 0
    for (const probe of this.#probes) {
      let probability = probe.probability(nowMs, this.#inFlight, rise)
      if (probability <= this.#probability) continue
      // Credit spares, and it costs something to ask for it.
      if (risen === rise) risen = riseOf(priority, borrower.credit)
      if (risen !== rise) probability = probe.chance(risen)
      if (probability <= this.#probability) continue
      this.#probability = probability
      this.#decider = probe
    }
    if (exempt) {
      this.#exempted++
    } else {
      // random() < 1, so a probability of 1 refuses always.
      if (this.#probability > 0 && this.#random() < this.#probability) {
        if (nowMs - this.#admittedAtMs < this.#trickleMs) {
          this.#totals.refused++
          return false
        }
        this.#trickled++
      }
      // A health check each second must not stand in for the request that is let in each second.
      this.#admittedAtMs = nowMs
    }
    this.#totals.admitted++
    this.#inFlight++
    for (const probe of this.#reserving) probe.admit()
    return true
  }

  #refusal(nowMs: number): Refusal {
    const probability = this.#probability
    // A shortage of memory or of CPU passes in about the seconds that requests last. While few are refused, a second
    // try soon is likely to get in; near the top the same client asking each second would be part of the problem.
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
    for (const probe of this.#reserving) probe.finish()
  }

  /** Nothing ran: what the request was expected to take is given back, and no finish is learned from. */
  #undo(): void {
    if (this.#inFlight === 0) return
    this.#inFlight--
    for (const probe of this.#reserving) probe.undo()
  }
}

/**
 * Load shedding for `createGate({ shed })`. Each gate makes a shedder of its own from it. Throws a `TypeError` on an
 * unknown option; values are checked when the gate is made.
 */
export function loadShedder(options: ShedOptions): Mechanism<'shed'> {
  requireOptions('shed', options, SHED_OPTIONS)
  return {
    place: 'shed',
    stage: ({ clock, random }) => new LoadShedder({ ...options, clock, ...(random === undefined ? {} : { random }) }),
  }
}

/** How far up the range each priority, from -2 to 2, starts to be refused: s in `from + s·(to - from)`. */
const RISES: readonly number[] = [-1, -0.5, 0, 0.75, 0.9]

/** Requests' worth of credit that a flow needs to be spared. */
const CREDIT_OF_THE_QUIET = 1

/** Where the quiet start at the latest, as a share of the range. */
const RISE_OF_THE_QUIET = 0.5

/**
 * The rise of a request: where in the range refusing starts for it. See `Curve.probability`.
 *
 * `priority` is a whole number from -2 (give it up first) to 2; anything else counts as 0. `credit` is what FAIR says
 * the flow still holds, in requests: with 1 or more the flow is not the one causing the shortage, and starts halfway up
 * at least. Absent, it changes nothing.
 */
export function riseOf(priority: number, credit: number | undefined): number {
  const rise = RISES[priority + 2] ?? 0
  return credit !== undefined && credit >= CREDIT_OF_THE_QUIET ? Math.max(rise, RISE_OF_THE_QUIET) : rise
}
