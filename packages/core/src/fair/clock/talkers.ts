import type { FlowKey } from '../placement.js'

/** A flow that asks for much. */
export interface Talker {
  readonly flow: string
  /** Its share of the cost that all asked for lately, at least: 0 to 1. */
  readonly askedShare: number
  /** What it asks for per second of late, at least, in units of cost. */
  readonly askedPerSecond: number
  /** Which share of what it asked for was refused, since it has been watched: 0 to 1. */
  readonly refusedShare: number
}

const WATCHED = 16
/** Counts are halved this often, so that "lately" is about twice as long. */
const HALVE_MS = 10_000

/**
 * The flows that ask for most, found in constant memory: 16 are watched. One that is not takes the place of whoever has
 * asked for least, with that count as the most that may have been missed of it. So whoever asks for more than a
 * sixteenth of everything is always among them, and counts of those that stay are exact.
 *
 * O(1) per request, nothing allocated; keeps the names of the flows that it watches, and nothing else of a
 * request; a name that was cut from a header keeps that header, because a copy of each new name would cost too much.
 *
 * @see A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams",
 *   ICDT 2005: Space-Saving
 */
export class TopTalkers {
  readonly #names: string[] = new Array(WATCHED).fill('')
  readonly #words = new Int32Array(2 * WATCHED)
  readonly #asked = new Float64Array(WATCHED)
  readonly #missed = new Float64Array(WATCHED)
  readonly #refused = new Float64Array(WATCHED)
  #total = 0
  /** Where the flow that asked last is watched. */
  #last = 0
  #halvedAtMs: number = Number.NaN
  #nowMs: number = Number.NaN
  /** Time that the counts are of, up to the last halving: each halving halves it too. */
  #countedMs = 0

  /** It is `nowMs` now: what was asked for a while ago counts for less. */
  advance(nowMs: number): void {
    const elapsedMs = nowMs - this.#halvedAtMs
    this.#nowMs = nowMs
    if (elapsedMs >= 0 && elapsedMs < HALVE_MS) return
    this.#halvedAtMs = nowMs
    if (!(elapsedMs > 0)) return
    const kept = 0.5 ** Math.floor(elapsedMs / HALVE_MS)
    this.#countedMs = (this.#countedMs + elapsedMs) * kept
    this.#total *= kept
    for (let i = 0; i < WATCHED; i++) {
      this.#asked[i]! *= kept
      this.#missed[i]! *= kept
      this.#refused[i]! *= kept
    }
  }

  /** A request comes. `key` must be digested. */
  asks(key: FlowKey, cost: number): void {
    this.#total += cost
    const { a, b } = key
    let least = 0
    for (let i = 0; i < WATCHED; i++) {
      if (this.#words[2 * i] === a && this.#words[2 * i + 1] === b && this.#asked[i]! > 0) {
        this.#asked[i]! += cost
        this.#last = i
        return
      }
      if (this.#asked[i]! < this.#asked[least]!) least = i
    }
    this.#names[least] = key.flow
    this.#words[2 * least] = a
    this.#words[2 * least + 1] = b
    this.#missed[least] = this.#asked[least]!
    this.#asked[least]! += cost
    this.#refused[least] = 0
    this.#last = least
  }

  /** The request that came last was refused. */
  refused(cost: number): void {
    this.#refused[this.#last]! += cost
  }

  /** Those who surely ask for something, the loudest first. Allocates. */
  list(): Talker[] {
    const talkers: Talker[] = []
    const sinceMs = Math.max(0, this.#nowMs - this.#halvedAtMs) || 0
    // Less than a second is no time to tell a rate by.
    const seconds = Math.max(1, (this.#countedMs + sinceMs) / 1_000)
    for (let i = 0; i < WATCHED; i++) {
      const seen = this.#asked[i]! - this.#missed[i]!
      if (!(seen > 0)) continue
      const refusedShare = Math.min(1, this.#refused[i]! / seen)
      talkers.push({
        flow: this.#names[i]!,
        askedShare: seen / this.#total,
        askedPerSecond: seen / seconds,
        refusedShare,
      })
    }
    return talkers.sort((x, y) => y.askedShare - x.askedShare)
  }
}
