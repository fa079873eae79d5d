import type { After, Clock } from '../../clock.js'

/** A sign of life is given this much later than it could be: most often somebody who was refused asks again by then. */
const LATE = 1.125

/** What a {@link Pulse} is about. */
export interface Beating {
  /** When something happened last. */
  lastUseMs(): number
  /** When the last sign of life was given. */
  lastSignMs(): number
  /** Whether there is anything to look after. */
  isOpen(): boolean
  /** Gives a sign of life. Nothing may have happened for a while. */
  sign(isIdle: boolean): void
}

/**
 * One timer: gives a sign of life every so often while there is something to look after, and when nothing has happened
 * for that long.
 */
export class Pulse {
  readonly #everyMs: number
  readonly #clock: Clock
  readonly #after: After
  readonly #beating: Beating
  #cancel: (() => void) | undefined
  #dueMs = 0

  constructor(everyMs: number, clock: Clock, after: After, beating: Beating) {
    this.#everyMs = everyMs
    this.#clock = clock
    this.#after = after
    this.#beating = beating
  }

  /** Starts the timer, unless it runs. One that is long overdue was lost, as those of a worker's former requests are. */
  start(nowMs: number): void {
    if (this.#cancel === undefined) {
      if (this.#beating.isOpen()) this.#set(nowMs)
    } else if (nowMs > this.#dueMs + this.#everyMs) this.#ring()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #set(nowMs: number): void {
    const { lastUseMs, lastSignMs } = this.#beating
    const usedMs = lastUseMs()
    const dueMs = lastSignMs() + this.#everyMs * LATE
    // One that could not be given, as no call was possible, is tried again.
    const signMs = dueMs > nowMs ? dueMs : nowMs + this.#everyMs / 2
    const idleMs = usedMs + this.#everyMs
    const nextMs = idleMs > nowMs ? Math.min(idleMs, signMs) : signMs
    this.#dueMs = nextMs
    this.#cancel = this.#after(Math.max(1, nextMs - nowMs), () => this.#ring())
  }

  #ring(): void {
    this.stop()
    if (!this.#beating.isOpen()) return
    const nowMs = this.#clock()
    const isIdle = nowMs - this.#beating.lastUseMs() >= this.#everyMs
    if (isIdle || nowMs - this.#beating.lastSignMs() >= this.#everyMs * LATE) this.#beating.sign(isIdle)
    this.#set(nowMs)
  }
}
