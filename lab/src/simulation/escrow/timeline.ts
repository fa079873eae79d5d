import type { Clock } from '@fairlead/core'
import { Heap } from '../capacity/heap.js'

/** Time that passes only from event to event, in every process of a fleet at once. */
export class Timeline {
  readonly #events: Heap<() => void> = new Heap()
  #nowMs = 0

  get nowMs(): number {
    return this.#nowMs
  }

  at(atMs: number, fn: () => void): void {
    this.#events.push(Math.max(atMs, this.#nowMs), fn)
  }

  /** A clock of this time, with another origin and another pace. */
  clock(offsetMs: number, rate: number = 1): Clock {
    return () => offsetMs + this.#nowMs * rate
  }

  /** Lets everything happen that is due by `untilMs`, with all promises that it settles. */
  async run(untilMs: number): Promise<void> {
    while (this.#events.least <= untilMs) {
      this.#nowMs = this.#events.least
      this.#events.pop()()
      await settled()
    }
    this.#nowMs = untilMs
  }
}

/** Resolves when all that could be done now, without waiting for anything, has been done. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
