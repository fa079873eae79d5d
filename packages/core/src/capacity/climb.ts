import { DurationHistogram } from './window.js'

/**
 * Ratio of a level to the one before; throughput must grow by at least its square root. A round has too few completions
 * to prove much smaller steps.
 */
const STEP = 2
/**
 * Shortest round, and the completions that then end it; in a careful climb, which waits for them however long that
 * takes, fewer: at five slots of 5 s they are half a minute.
 */
const SHORTEST_MS = 200
const ENOUGH = 100
const CAREFUL_ENOUGH = 30
/** A level with fewer completions than this is not compared with others. */
const LEAST = 4
/**
 * Longest round, and the longest part of its beginning that is left out. With requests of 5 s, four rounds climb from
 * 20 to 200 before the first request has ended.
 */
const LONGEST_MS = 1_500
/**
 * A round that would end the climb continues: to this multiple of the completions, or for the longest time if that has
 * these few completions; and for at most this multiple of that time. With fewer, nothing is known about the level.
 */
const LONGER = 4
const FEW = 10
/** Standard errors by which throughput must be too low. */
const SURE = 1
/**
 * Share of the requests that counts as the quick ones; and their slowdown, as a logarithm, that proves congestion: a
 * third of the slowdown that congestion predicts for all requests, or this and two standard errors.
 */
const QUICK = 1 / 3
const CONGESTED = 1 / 3
const AS_QUICK = 0.1

/** The measurements of a round at a level. */
interface Round {
  readonly level: number
  readonly completions: number
  readonly measuredMs: number
  /** Upper quantile of the quick requests' durations. */
  readonly quick: { readonly log: number; readonly error: number }
}

/**
 * Finds the number of useful slots by trial: doubles the limit, round after round, as long as requests wait and more
 * requests in flight raise the throughput. TCP and BBR start in the same way; this rule differs in the proof that the
 * limit is too high.
 *
 * The throughput of a service without a bottleneck grows in proportion to the number in flight, whatever its durations.
 * A level is too high if, against some lower one, k times the slots have brought less than √k times the completions per
 * second, by more than a standard error of a Poisson count, *and* the quickest third of the requests has become slower:
 * congestion makes all requests slower, an unlucky mix only some. The size of the slowdown follows from Little's law:
 * it is k divided by the growth of throughput. The limit goes back to the lowest level that served as much.
 *
 * A round lasts 200 ms and 100 completions, or 1.5 s: if hardly anything ends in that time, nothing shows that too much
 * is in flight. A round that would end the climb continues to four times the completions or 1.5 s, and until ten
 * requests have ended, for 6 s at most: until slow requests have filled their slots, throughput fluctuates. Only time
 * with waiting requests counts, from one mean duration after the step on.
 *
 * A *careful* climb starts from a limit that was found to be right, so it goes up by evidence alone. Its rounds have no
 * longest time, but wait for 30 completions, from one whole mean duration after the step on; a round that would end it
 * continues to four times as many. So it takes as many requests, and not as much time, to see that a service of slow
 * requests has room.
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
  /** Requests have been waiting since the round began. */
  #open = false
  /** The completions so far show that the level is too high. */
  #suspicious = false
  /** A request was admitted since, and did not run. */
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

  /** True once {@link limit} is the result. */
  get ended(): boolean {
    return this.#ended
  }

  /** True while only the climb may judge the limit: requests wait, or the limit is not yet known to be right. */
  get underWay(): boolean {
    return !this.#ended && (this.#open || this.#limit > this.from)
  }

  /** Time that rounds have taken, in milliseconds. */
  get spentMs(): number {
    return this.#spentMs
  }

  /** Time until the requests in flight show the effect of the last step, in milliseconds. */
  get settleMs(): number {
    return this.#settleMs
  }

  /** `elapsedMs` more have passed; `full`: requests waited for a slot all that time. */
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

  /** A request was admitted, and did not run. */
  undo(): void {
    this.#undone = true
  }

  /** Time of the round. */
  get #measuredMs(): number {
    return this.#elapsedMs - this.#settleMs
  }

  get #isOver(): boolean {
    const { count } = this.#durations
    const measuredMs = this.#measuredMs
    const enough = this.careful ? CAREFUL_ENOUGH : ENOUGH
    if (count >= (this.#suspicious ? LONGER * enough : enough)) return measuredMs >= SHORTEST_MS + this.#settleMs
    if (this.careful || measuredMs < LONGEST_MS) return false
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
    else if (!this.#undone) this.#step()
  }

  #compare(): void {
    const completions = this.#durations.count
    const measuredMs = this.#measuredMs
    const round = { level: this.#limit, completions, measuredMs, quick: this.#durations.quantile(QUICK) }
    const enough = this.#rounds.find((lower) => this.#bringsTooLittle(round, lower))
    if (enough === undefined) {
      this.#rounds.push(round)
      this.#settleMs = Math.min(this.careful ? Number.POSITIVE_INFINITY : LONGEST_MS, this.#durations.meanMs)
      this.#step()
    } else if (!this.#suspicious && (this.careful || completions < FEW || measuredMs < LONGEST_MS)) {
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
    else this.#limit = Math.min(this.#max, STEP * this.#limit)
  }

  #bringsTooLittle(round: Round, lower: Round): boolean {
    const more = Math.log(round.level / lower.level)
    const brought = Math.log(perMs(round) / perMs(lower))
    const missing = (more / 2 - brought) / Math.sqrt(1 / round.completions + 1 / lower.completions)
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
