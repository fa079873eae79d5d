import type { After } from './clock.js'

/** One timer, for whatever comes next. It may ring early or late, so its listener has to look at the clock. */
export class Alarm {
  readonly #after: After
  readonly #ring: () => void
  #cancel: (() => void) | undefined = undefined
  #atMs = 0

  constructor(after: After, ring: () => void) {
    this.#after = after
    this.#ring = ring
  }

  /** Rings at `atMs`, unless it is set to ring sooner; not at all if that is `undefined`. */
  set(atMs: number | undefined, nowMs: number): void {
    if (atMs === undefined) {
      this.#stop()
      return
    }
    if (this.#cancel !== undefined && this.#atMs <= atMs) return
    this.#stop()
    this.#atMs = atMs
    this.#start(Math.max(0, atMs - nowMs))
  }

  /** Apart from `set`, which mostly finds the timer set already, and would make room for this closure each time. */
  #start(ms: number): void {
    this.#cancel = this.#after(ms, () => {
      this.#cancel = undefined
      this.#ring()
    })
  }

  #stop(): void {
    const cancel = this.#cancel
    this.#cancel = undefined
    cancel?.()
  }
}
