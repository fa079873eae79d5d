import type { After, Clock } from '@fairlead/core'
import type { Timeline } from './timeline.js'

/**
 * One process: its clock, and its events in time. While it is stopped nothing happens and its clock runs on; then all
 * due events happen at once, timers before arrivals, as in Node.
 */
export class Machine {
  readonly clock: Clock
  readonly after: After
  readonly #timeline: Timeline
  readonly #due: { timers: (() => void)[]; arrivals: (() => void)[] } = { timers: [], arrivals: [] }
  #isStopped = false
  #isAlive = true

  /** Its clock runs `rate` times as fast as the timeline, from another origin. */
  constructor(timeline: Timeline, offsetMs: number, rate: number) {
    this.#timeline = timeline
    this.clock = timeline.clock(offsetMs, rate)
    this.after = (ms, fn) => {
      let live = true
      this.at(timeline.nowMs + ms / rate, () => {
        if (live) fn()
      })
      return () => {
        live = false
      }
    }
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** A timer of the process: fires at `atMs` of the timeline, or when the process continues. */
  at(atMs: number, fn: () => void): void {
    this.#timeline.at(atMs, () => this.#happen('timers', fn))
  }

  /** An arrival at `atMs`, read then, or when the process continues. */
  arrive(atMs: number, fn: () => void): void {
    this.#timeline.at(atMs, () => this.#happen('arrivals', fn))
  }

  stop(): void {
    this.#isStopped = true
  }

  goOn(): void {
    this.#isStopped = false
    const { timers, arrivals } = this.#due
    for (const list of [timers, arrivals])
      for (const fn of list.splice(0)) this.#timeline.at(this.#timeline.nowMs, () => this.#happen('arrivals', fn))
  }

  /** Ends the process: no further events. */
  kill(): void {
    this.#isAlive = false
  }

  #happen(kind: 'timers' | 'arrivals', fn: () => void): void {
    if (!this.#isAlive) return
    if (this.#isStopped) this.#due[kind].push(fn)
    else fn()
  }
}
