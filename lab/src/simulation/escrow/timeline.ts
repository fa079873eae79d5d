import type { Clock } from '@fairlead/core'
import { Heap } from '../capacity/heap.js'

/** Time that advances only from event to event, in all processes of a fleet at once. */
export class Timeline {
  readonly #events: Heap<() => void> = new Heap()
  #nowMs = 0

  get nowMs(): number {
    return this.#nowMs
  }

  at(atMs: number, fn: () => void): void {
    this.#events.push(Math.max(atMs, this.#nowMs), fn)
  }

  /** A clock of this time, with another origin and another rate. */
  clock(offsetMs: number, rate: number = 1): Clock {
    return () => offsetMs + this.#nowMs * rate
  }

  /** Executes all events that are due by `untilMs`, with all promises that they settle. */
  async run(untilMs: number): Promise<void> {
    while (this.#events.least <= untilMs) {
      this.#nowMs = this.#events.least
      this.#events.pop()()
      await settled()
    }
    this.#nowMs = untilMs
  }
}

/** Resolves when all pending promises have settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
