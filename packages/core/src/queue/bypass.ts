import { ROUNDING } from './supply.js'

/**
 * A request whose turn has come while too few slots are free for it, and how much width may still pass it.
 *
 * Without passing, slots stand empty while it waits for its last; with unbounded passing, narrow requests can keep it
 * waiting for ever. So others that fit may take `bypass` times its width in all, and from then on what comes free is
 * kept for it. One at a time: it has left the queue, and what does not fit either waits in the queue. Whoever passes,
 * passes for that much in all: another flow, a higher band, or a narrower request of its own flow.
 */
export class Bypass<W extends { readonly width: number }> {
  readonly #bypass: number
  #head: W | undefined = undefined
  #passed = 0
  #paid = 0

  constructor(bypass: number) {
    this.#bypass = bypass
  }

  /** The request that is being passed. */
  get head(): W | undefined {
    return this.#head
  }

  /** The width that has passed it. */
  get passed(): number {
    return this.#passed
  }

  /** Credit that its turn took from its band. */
  get paid(): number {
    return this.#paid
  }

  /** Its turn has come, and took so much credit; it does not fit. */
  hold(head: W, paid: number): void {
    this.#head = head
    this.#passed = 0
    this.#paid = paid
  }

  /** It started, or will not. */
  clear(): void {
    this.#head = undefined
    this.#passed = 0
  }

  /** Whether a request so wide may start before it. */
  allows(width: number): boolean {
    return this.#head === undefined || this.#passed + width <= this.#bypass * this.#head.width + ROUNDING
  }

  /** A request started. */
  pass(width: number): void {
    if (this.#head !== undefined) this.#passed += width
  }
}
