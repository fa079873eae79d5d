import { DurationHistogram } from './window.js'

/**
 * Each level is this many times the one before, and has to bring at least the square root of it. A careful climb, which
 * mostly finds nothing and harms what it finds full, takes smaller steps: of 1.25, a round's completions would prove none.
 */
const STEP = 2
const CAREFUL_STEP = Math.SQRT2
/** What a round lasts at least, and the completions that end it then. */
const SHORTEST_MS = 200
const ENOUGH = 100
/** A level at which fewer than this ended is none to compare others with. */
const LEAST = 4
/**
 * What a round lasts at most, and what is left out at most of its beginning. From 20 to 200 in the time of one request
 * of 5 s: four rounds, before the first of them has ended.
 */
const LONGEST_MS = 1_500
/**
 * A round that would end the climb goes on: for this many times the completions, or the longest time if that brings
 * these few; and for no longer than this many times that. With fewer, nothing is known of the level.
 */
const LONGER = 4
const FEW = 10
/** Standard errors by which throughput must be too small; in a careful climb, by which it must be large enough. */
const SURE = 1
/**
 * Share of the requests that are the quick ones; and how much longer they take, as a logarithm, where there is
 * congestion: by a third of what it would make of all requests, or by this and two standard errors.
 */
const QUICK = 1 / 3
const CONGESTED = 1 / 3
const AS_QUICK = 0.1

/** What a round at a level has measured. */
interface Round {
  readonly level: number
  readonly completions: number
  readonly measuredMs: number
  /** The quantile of durations below which the quick ones are. */
  readonly quick: { readonly log: number; readonly error: number }
}

/**
 * Finds out by trying how many slots there is work for: doubles the limit, round after round, for as long as more are
 * asked for and more in flight brings more per second. So does the start of TCP and of BBR, from which this differs in
 * what it takes for a proof that it has gone too far.
 *
 * What a service without a bottleneck delivers grows as what is in flight does, whatever its durations: a linear system
 * answers to growth with the same growth. A level is too high if, against some lower one, k times the slots have
 * brought less than √k times the completions per second, by more than a standard error of a Poisson count, *and* the
 * quickest third of the requests has become slower: congestion makes all requests slower, an unlucky mix only some. By
 * how much follows from Little's law: k times as many in flight, of which fewer end, last longer by the ratio of both.
 * The limit goes back to the lowest level that served as much.
 *
 * A round lasts 200 ms and 100 completions, or 1.5 s: if hardly anything ends in that time, hardly anything is known,
 * and nothing says that there is too much in flight. A round that would end the climb goes on, to four times the
 * completions or 1.5 s, and until ten have ended, for 6 s at most: slots that slow requests have yet to fill serve now
 * more, now less, than they will. Only time during which somebody was waiting counts, from one mean duration after the
 * step on.
 *
 * A *careful* climb starts from a limit that was found to be right, and goes by steps of √2. It keeps a level only if
 * that brings more than √k times the completions, by more than a standard error; else the limit is what it was before.
 *
 * @see N. Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14, 2016
 */
export class Climb {
  readonly from: number
  readonly careful: boolean
  readonly #max: number
  readonly #rounds: Round[] = []
  readonly #durations: DurationHistogram = new DurationHistogram()
  #limit: number
  #ended = false
  /** Somebody has been waiting since the round began. */
  #open = false
  /** What has ended so far says that the level is too high. */
  #suspicious = false
  /** Something was let in since, and did not run. */
  #undone = false
  #elapsedMs = 0
  #settleMs = 0
  #spentMs = 0

  /** `from` and `max` are whole numbers, 1 <= from <= max. */
  constructor(from: number, max: number, careful = false) {
    this.from = from
    this.#limit = from
    this.#max = max
    this.careful = careful
  }

  /** Slots at present. */
  get limit(): number {
    return this.#limit
  }

  /** True once {@link limit} is what was found. */
  get ended(): boolean {
    return this.#ended
  }

  /** True while what happens is to be judged by this alone: somebody waits, or the limit is not yet known to be right. */
  get underWay(): boolean {
    return !this.#ended && (this.#open || this.#limit > this.from)
  }

  /** Time that rounds have taken, in milliseconds. */
  get spentMs(): number {
    return this.#spentMs
  }

  /** How long what is in flight takes to show what the last step has changed, in milliseconds. */
  get settleMs(): number {
    return this.#settleMs
  }

  /** `elapsedMs` more have gone by; `full` says whether somebody waited for a slot all that time. */
  pass(elapsedMs: number, full: boolean): void {
    if (this.#ended) return
    if (!full) {
      this.#open = false
      return
    }
    if (!this.#open) this.#begin()
    this.#elapsedMs += elapsedMs
    this.#spentMs += elapsedMs
    if (this.#isOver) this.#judge()
  }

  /** A request ended after `durationMs`. */
  complete(durationMs: number): void {
    if (!this.#open || this.#elapsedMs < this.#settleMs) return
    this.#durations.add(durationMs)
    if (this.#isOver) this.#judge()
  }

  /** A request was let in, and did not run. */
  undo(): void {
    this.#undone = true
  }

  /** Of the round. */
  get #measuredMs(): number {
    return this.#elapsedMs - this.#settleMs
  }

  get #isOver(): boolean {
    const { count } = this.#durations
    const measuredMs = this.#measuredMs
    if (count >= (this.#suspicious ? LONGER * ENOUGH : ENOUGH)) return measuredMs >= SHORTEST_MS + this.#settleMs
    if (measuredMs < LONGEST_MS) return false
    return !this.#suspicious || count >= FEW || measuredMs >= LONGER * LONGEST_MS
  }

  #begin(): void {
    this.#open = true
    this.#suspicious = false
    this.#undone = false
    this.#elapsedMs = 0
    this.#durations.clear()
  }

  #judge(): void {
    this.#open = false
    if (this.#durations.count > 0) this.#compare()
    else if (this.careful) this.#end(this.from)
    else if (!this.#undone) this.#step()
  }

  #compare(): void {
    const completions = this.#durations.count
    const measuredMs = this.#measuredMs
    const round = { level: this.#limit, completions, measuredMs, quick: this.#durations.quantile(QUICK) }
    const enough = this.#rounds.find((lower) => this.#bringsTooLittle(round, lower))
    if (enough === undefined) {
      this.#rounds.push(round)
      this.#settleMs = Math.min(LONGEST_MS, this.#durations.meanMs)
      this.#step()
    } else if (this.careful) {
      this.#end(this.from)
    } else if (!this.#suspicious && (completions < FEW || measuredMs < LONGEST_MS)) {
      this.#suspicious = true
      this.#open = true
    } else if (completions >= FEW) {
      this.#end(enough.level)
    } else {
      this.#step()
    }
  }

  #step(): void {
    if (this.#limit >= this.#max) this.#end(this.#max)
    else this.#limit = Math.min(this.#max, Math.ceil((this.careful ? CAREFUL_STEP : STEP) * this.#limit))
  }

  #bringsTooLittle(round: Round, lower: Round): boolean {
    const more = Math.log(round.level / lower.level)
    const brought = Math.log(perMs(round) / perMs(lower))
    const missing = (more / 2 - brought) / Math.sqrt(1 / round.completions + 1 / lower.completions)
    if (this.careful) return missing > -SURE
    if (missing <= SURE || lower.completions < LEAST) return false
    const longer = round.quick.log - lower.quick.log
    const uncertain = Math.hypot(round.quick.error, lower.quick.error)
    return longer > Math.min(CONGESTED * (more - brought), AS_QUICK + 2 * uncertain)
  }

  #end(limit: number): void {
    this.#limit = limit
    this.#ended = true
  }
}

function perMs({ completions, measuredMs }: Round): number {
  return completions / measuredMs
}
