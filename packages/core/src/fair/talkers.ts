import type { FlowKey } from './placement.js'

/** A flow with a large demand. */
export interface Talker {
  readonly flow: string
  /** Lower bound of its share of the total recent demand: 0 to 1. */
  readonly askedShare: number
  /** Lower bound of its recent demand per second, in units of cost. */
  readonly askedPerSecond: number
  /** Refused share of its demand, since it has been watched: 0 to 1. */
  readonly refusedShare: number
}

const WATCHED = 16
/** Counts are halved at this interval, so that "recent" is about twice as long. */
const HALVE_MS = 10_000

/**
 * The flows with the largest demand, found in constant memory: 16 are watched. Another flow takes the place of the one
 * with the least demand, with that count as the upper bound of its missed demand. So a flow with more than a sixteenth
 * of the total demand is always among them, and counts of flows that stay are exact.
 *
 * O(1) per request, nothing allocated; keeps the names of the watched flows, and nothing else of a request; a name that
 * was cut from a header retains that header, because a copy of each new name would cost too much.
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
  /** Index of the flow that asked last. */
  #last = 0
  /** A lower bound of each demand, and the last index that was found to have it. */
  #least = 0
  #turn = 0
  #halvedAtMs: number = Number.NaN
  #nowMs: number = Number.NaN
  /** Time of the counts, up to the last halving: each halving also halves it. */
  #countedMs = 0

  /** It is `nowMs` now: older demand counts for less. */
  advance(nowMs: number): void {
    const elapsedMs = nowMs - this.#halvedAtMs
    this.#nowMs = nowMs
    if (elapsedMs >= 0 && elapsedMs < HALVE_MS) return
    this.#halvedAtMs = nowMs
    if (!(elapsedMs > 0)) return
    const kept = 0.5 ** Math.floor(elapsedMs / HALVE_MS)
    this.#countedMs = (this.#countedMs + elapsedMs) * kept
    this.#total *= kept
    this.#least *= kept
    for (let i = 0; i < WATCHED; i++) {
      this.#asked[i]! *= kept
      this.#missed[i]! *= kept
      this.#refused[i]! *= kept
    }
  }

  /** A request arrives. `key` must be digested. */
  asks(key: FlowKey, cost: number): void {
    this.#total += cost
    const { a, b } = key
    for (let i = 0; i < WATCHED; i++)
      if (this.#words[2 * i] === a && this.#words[2 * i + 1] === b && this.#asked[i]! > 0) {
        this.#asked[i]! += cost
        this.#last = i
        return
      }
    const least = this.#leastIndex()
    this.#names[least] = key.flow
    this.#words[2 * least] = a
    this.#words[2 * least + 1] = b
    this.#missed[least] = this.#asked[least]!
    this.#asked[least]! += cost
    this.#refused[least] = 0
    this.#last = least
  }

  /** A flow with the least demand. Several have the same one, if the demand is even: the next in turn. */
  #leastIndex(): number {
    for (let i = 1; ; i++) {
      this.#turn = (this.#turn + 1) % WATCHED
      if (this.#asked[this.#turn]! <= this.#least) return this.#turn
      if (i === WATCHED) this.#least = this.#asked.reduce((least, asked) => Math.min(least, asked))
    }
  }

  /** The last request was refused. */
  refused(cost: number): void {
    this.#refused[this.#last]! += cost
  }

  /** Recent demand per second of the flow that asked last; 0 while that is not certain. */
  get askedPerSecond(): number {
    return (this.#asked[this.#last]! - this.#missed[this.#last]!) / this.#seconds
  }

  /** Time of the counts. Less than a second is too short for a rate. */
  get #seconds(): number {
    return Math.max(1, (this.#countedMs + this.#nowMs - this.#halvedAtMs) / 1_000)
  }

  /** The flows with certain demand, the loudest first. Allocates. */
  list(): Talker[] {
    const talkers: Talker[] = []
    for (let i = 0; i < WATCHED; i++) {
      const seen = this.#asked[i]! - this.#missed[i]!
      if (seen > 0)
        talkers.push({
          flow: this.#names[i]!,
          askedShare: seen / this.#total,
          askedPerSecond: seen / this.#seconds,
          refusedShare: Math.min(1, this.#refused[i]! / seen),
        })
    }
    return talkers.sort((x, y) => y.askedShare - x.askedShare)
  }
}
