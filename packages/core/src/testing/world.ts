import type { After } from '../clock.js'
import { type ManualClock, manualClock } from './manual-clock.js'

/** A manual clock, and timers that the test fires, late if it chooses. */
export class World {
  readonly clock: ManualClock = manualClock()
  readonly #timers = new Map<number, { atMs: number; fn: () => void }>()
  #next = 0

  readonly after: After = (ms, fn) => {
    const id = this.#next++
    this.#timers.set(id, { atMs: this.clock() + ms, fn })
    return () => void this.#timers.delete(id)
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#timers.size
  }

  /** Time of the earliest timer; infinite if none is set. */
  get nextMs(): number {
    let nextMs = Number.POSITIVE_INFINITY
    for (const { atMs } of this.#timers.values()) nextMs = Math.min(nextMs, atMs)
    return nextMs
  }

  /** Advances the time without firing timers: the event loop is busy. */
  stall(ms: number): void {
    this.clock.advance(ms)
  }

  /** Fires all due timers. */
  ring(): void {
    for (const [id, { atMs, fn }] of [...this.#timers]) if (atMs <= this.clock() && this.#timers.delete(id)) fn()
  }

  /** Advances the time and fires each timer when it is due. */
  advance(ms: number): void {
    const untilMs = this.clock() + ms
    for (let atMs = this.nextMs; atMs <= untilMs; atMs = this.nextMs) {
      if (atMs > this.clock()) this.clock.advance(atMs - this.clock())
      this.ring()
    }
    this.clock.advance(untilMs - this.clock())
  }
}

/** Lets the callbacks of settled promises run. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
