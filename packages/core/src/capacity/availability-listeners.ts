/** Notifies listeners when capacity becomes available again. No clock; O(1), apart from the listeners themselves. */
export class AvailabilityListeners {
  #listeners: readonly (() => void)[] = []
  /** For each listener, the number of requests that wait there, if it says so. */
  #waiting: readonly ((() => number) | undefined)[] = []
  /** The listener to call first: each in its turn, so that the first of several queues does not get all free slots. */
  #first = 0
  /** A request was turned away, and the listeners have not been told since. */
  #wanted = false
  #telling = false
  /** Slots came back while the listeners were being told. */
  #again = false

  /** Whether there are listeners. */
  get heard(): boolean {
    return this.#listeners.length > 0
  }

  /** Whether there are listeners, which have not been told since a request was turned away. */
  get awaited(): boolean {
    return this.#wanted && this.#listeners.length > 0
  }

  /** Requests that wait at all listeners together; `undefined` if one of them does not say. */
  get waiting(): number | undefined {
    let sum = 0
    for (const waiting of this.#waiting) {
      if (waiting === undefined) return undefined
      sum += waiting()
    }
    return sum
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    // A wrapper of its own, so that the same function may listen twice and each stops only itself.
    const own = (): void => listener()
    this.#listeners = [...this.#listeners, own]
    this.#waiting = [...this.#waiting, waiting]
    return () => {
      const at = this.#listeners.indexOf(own)
      if (at < 0) return
      this.#listeners = this.#listeners.toSpliced(at, 1)
      this.#waiting = this.#waiting.toSpliced(at, 1)
    }
  }

  /** A request was turned away: the listeners are to be told. */
  want(): void {
    this.#wanted = true
  }

  /** Calls the listeners if a request was turned away since the last time. To be called last: they may call anything. */
  tell(): void {
    if (!this.#wanted) return
    this.#again = true
    // No nested round: the outer call goes on when this listener is done.
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
      // The listeners that were not reached are told next time.
      this.#wanted = true
      throw error
    } finally {
      this.#telling = false
      this.#again = false
    }
  }
}
