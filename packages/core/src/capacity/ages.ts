import { LifeTable } from './life-table.js'

/**
 * The ages of the requests in flight, and of those that ended in a round, from the times of starts and ends alone.
 * Requests that started before its creation are left out. O(log n) per request, plus a move of the starts after its
 * own.
 */
export class Ages {
  #nowMs = 0
  /** Start times of the requests in flight, in order. */
  readonly #starts: number[] = []
  /** Start and end of each request with a noted end. */
  readonly #ended: number[] = []

  /** Forgets the noted ends. */
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

  /** A request ended after `durationMs`; `noted`: within a round, and with a typical duration. */
  end(durationMs: number, noted: boolean): void {
    const startMs = this.#nowMs - Math.max(durationMs, 0)
    if (!(startMs >= -ROUNDING_MS) || this.#starts.length === 0) return
    this.#starts.splice(this.#placeOf(startMs), 1)
    if (noted) this.#ended.push(startMs, this.#nowMs)
  }

  /** Life table of the last `forMs`, in which all ends were noted. */
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

/** Tolerance, because a start is computed as the end less the duration: sums of fractions. */
const ROUNDING_MS = 1e-6
