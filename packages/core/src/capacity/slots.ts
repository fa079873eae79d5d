/** What sums of fractional widths may be off by. */
const ROUNDING = 1e-9

/**
 * The slots of a capacity: how many are taken, and who wants to know when there are more. No clock; O(1) but for
 * the listeners.
 */
export class Slots {
  #inFlight = 0
  /** Requests among which the slots are divided. */
  #holders = 0
  #listeners: readonly (() => void)[] = []
  /** Whom to call first: each in its turn, so that the first of several rooms does not get all that comes free. */
  #first = 0
  /** Somebody was turned away and has not been told since. */
  #wanted = false
  #telling = false
  /** Slots came back while listeners were being told. */
  #again = false

  get inFlight(): number {
    return this.#inFlight
  }

  /** Takes `width` slots if that many of `limit` are free, or if nothing is in flight and it is at most `maximum`. */
  tryTake(width: number, limit: number, maximum: number): boolean {
    const fits = this.#inFlight + width <= limit + ROUNDING
    if (fits || (this.#holders === 0 && limit > 0 && width <= maximum + ROUNDING)) {
      this.#inFlight += width
      this.#holders++
      return true
    }
    // Nobody may wait for what never comes.
    if (width <= maximum + ROUNDING) this.#wanted = true
    return false
  }

  /** Gives slots back; `false` if none are taken. Tells nobody yet. */
  giveBack(width: number): boolean {
    if (this.#holders === 0) return false
    this.#holders--
    // The last one takes the rounding errors of fractions with it.
    this.#inFlight = this.#holders === 0 ? 0 : Math.max(0, this.#inFlight - width)
    return true
  }

  onAvailable(listener: () => void): () => void {
    // A wrapper of its own, so that the same function may listen twice and each stops only itself.
    const own = (): void => listener()
    this.#listeners = [...this.#listeners, own]
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== own)
    }
  }

  /** Calls the listeners if somebody was turned away since the last time. To be called last: they may call anything. */
  tell(): void {
    if (!this.#wanted) return
    this.#again = true
    // Not deeper: the call further out goes on when this listener is done.
    if (this.#telling) return
    this.#telling = true
    try {
      while (this.#again && this.#wanted) {
        this.#again = false
        this.#wanted = false
        const listeners = this.#listeners
        const count = listeners.length
        this.#first = count > 0 ? (this.#first + 1) % count : 0
        const first = this.#first
        for (let i = 0; i < count; i++) listeners[(first + i) % count]!()
      }
    } catch (error) {
      // Those that were not reached are told next time.
      this.#wanted = true
      throw error
    } finally {
      this.#telling = false
      this.#again = false
    }
  }
}
