import { LifeTable } from './life-table.js'

/**
 * Knows the ages of the requests in flight, and of those that ended in a round, from no more than the times of starts and
 * ends. Requests that started before it was made are left out. O(log n) per request, and a move of the starts after its
 * own.
 */
export class Ages {
  #nowMs = 0
  /** When each request in flight started, in order. */
  readonly #starts: number[] = []
  /** Start and end of each request whose end was noted. */
  readonly #ended: number[] = []

  /** Forgets the ends that were noted. */
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

  /** A request ended after `durationMs`; `noted`: in a round, and as one of its kind does. */
  end(durationMs: number, noted: boolean): void {
    const startMs = this.#nowMs - Math.max(durationMs, 0)
    if (!(startMs >= -ROUNDING_MS) || this.#starts.length === 0) return
    this.#starts.splice(this.#placeOf(startMs), 1)
    if (noted) this.#ended.push(startMs, this.#nowMs)
  }

  /** The last `forMs`, in which all ends were noted. */
  table(forMs: number): LifeTable {
    const table = new LifeTable()
    const nowMs = this.#nowMs
    const roundMs = nowMs - forMs
    for (const startMs of this.#starts) table.add(roundMs - startMs, nowMs - startMs)
    for (let i = 0; i < this.#ended.length; i += 2) {
      const startMs = this.#ended[i]!
      table.add(roundMs - startMs, nowMs - startMs, this.#ended[i + 1]! - startMs)
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

/** A start is the end less the duration: sums of fractions. */
const ROUNDING_MS = 1e-6
