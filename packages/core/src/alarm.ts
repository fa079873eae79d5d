import type { After } from './clock.js'

/** A single timer for the earliest due event. It may ring early or late, so its listener must read the clock. */
export class Alarm {
  readonly #after: After
  readonly #ring: () => void
  #cancel: (() => void) | undefined = undefined
  #atMs = 0

  constructor(after: After, ring: () => void) {
    this.#after = after
    this.#ring = ring
  }

  /** Rings at `atMs`, unless it is already set to ring sooner. `undefined` cancels it. */
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

  /**
   * A method apart from `set`: a closure in `set` would be allocated on every call, although the timer is mostly set
   * already.
   */
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
