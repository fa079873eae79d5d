import type { After, Clock } from '../../clock.js'

/** One timer, which notices when something has not been used for a while. It runs only while there is something. */
export class IdleWatch {
  readonly #idleMs: number
  readonly #clock: Clock
  readonly #after: After
  readonly #hasAny: () => boolean
  readonly #onIdle: () => void
  #usedAtMs = 0
  #cancel: (() => void) | undefined

  constructor(idleMs: number, clock: Clock, after: After, hasAny: () => boolean, onIdle: () => void) {
    this.#idleMs = idleMs
    this.#clock = clock
    this.#after = after
    this.#hasAny = hasAny
    this.#onIdle = onIdle
  }

  used(nowMs: number): void {
    this.#usedAtMs = nowMs
  }

  /** There may be something now, as good as used. */
  start(): void {
    if (this.#cancel !== undefined || !this.#hasAny()) return
    this.#usedAtMs = this.#clock()
    this.#set(this.#idleMs)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #set(ms: number): void {
    this.#cancel = this.#after(ms, () => {
      this.#cancel = undefined
      if (!this.#hasAny()) return
      const restMs = this.#usedAtMs + this.#idleMs - this.#clock()
      if (restMs > 0) this.#set(restMs)
      else this.#onIdle()
    })
  }
}
