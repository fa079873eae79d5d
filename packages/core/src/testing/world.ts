import type { After } from '../clock.js'
import { type ManualClock, manualClock } from './manual-clock.js'

/** A manual clock, and timers that ring when they are told to, as late as one likes. */
export class World {
  readonly clock: ManualClock = manualClock()
  readonly #timers = new Map<number, { atMs: number; fn: () => void }>()
  #next = 0

  readonly after: After = (ms, fn) => {
    const id = this.#next++
    this.#timers.set(id, { atMs: this.clock() + ms, fn })
    return () => void this.#timers.delete(id)
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#timers.size
  }

  /** When the earliest timer is to ring; infinite if none is set. */
  get nextMs(): number {
    let nextMs = Number.POSITIVE_INFINITY
    for (const { atMs } of this.#timers.values()) nextMs = Math.min(nextMs, atMs)
    return nextMs
  }

  /** Moves time on without ringing anything: the event loop is busy. */
  stall(ms: number): void {
    this.clock.advance(ms)
  }

  /** Rings what is due. */
  ring(): void {
    for (const [id, { atMs, fn }] of [...this.#timers]) if (atMs <= this.clock() && this.#timers.delete(id)) fn()
  }

  /** Moves time on and rings each timer in its time. */
  advance(ms: number): void {
    const untilMs = this.clock() + ms
    for (let atMs = this.nextMs; atMs <= untilMs; atMs = this.nextMs) {
      if (atMs > this.clock()) this.clock.advance(atMs - this.clock())
      this.ring()
    }
    this.clock.advance(untilMs - this.clock())
  }
}
