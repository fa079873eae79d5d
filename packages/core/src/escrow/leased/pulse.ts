import type { After, Clock } from '../../clock.js'

/** What a {@link Pulse} is about. */
export interface Beating {
  /** When something happened last. */
  lastUseMs(): number
  /** When the last sign of life was given. */
  lastSignMs(): number
  /** Whether there is anything to look after. */
  isOpen(): boolean
  /** Gives a sign of life. */
  sign(): void
  /** Nothing has happened for a while. */
  idle(): void
}

/** One timer: gives a sign of life every so often while something happens, and tells once that nothing does. */
export class Pulse {
  readonly #everyMs: number
  readonly #clock: Clock
  readonly #after: After
  readonly #beating: Beating
  #cancel: (() => void) | undefined

  constructor(everyMs: number, clock: Clock, after: After, beating: Beating) {
    this.#everyMs = everyMs
    this.#clock = clock
    this.#after = after
    this.#beating = beating
  }

  start(): void {
    if (this.#cancel === undefined && this.#beating.isOpen()) this.#set(this.#clock())
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #set(nowMs: number): void {
    const nextMs = Math.min(this.#beating.lastUseMs(), Math.max(this.#beating.lastSignMs(), nowMs - this.#everyMs / 2))
    this.#cancel = this.#after(Math.max(1, nextMs + this.#everyMs - nowMs), () => this.#ring())
  }

  #ring(): void {
    this.#cancel = undefined
    if (!this.#beating.isOpen()) return
    const nowMs = this.#clock()
    if (nowMs - this.#beating.lastUseMs() >= this.#everyMs) {
      this.#beating.idle()
      return
    }
    if (nowMs - this.#beating.lastSignMs() >= this.#everyMs) this.#beating.sign()
    this.#set(nowMs)
  }
}
