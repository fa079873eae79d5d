/** Who wants to know when there is more of a capacity. No clock; O(1) but for the listeners. */
export class Bell {
  #listeners: readonly (() => void)[] = []
  /** Of the same listeners: how many wait there, where they say so. */
  #waiting: readonly ((() => number) | undefined)[] = []
  /** Whom to call first: each in its turn, so that the first of several rooms does not get all that comes free. */
  #first = 0
  /** Somebody was turned away and has not been told since. */
  #wanted = false
  #telling = false
  /** Slots came back while listeners were being told. */
  #again = false

  /** Somebody listens. */
  get heard(): boolean {
    return this.#listeners.length > 0
  }

  /** Somebody listens, and was turned away and has not been told since. */
  get awaited(): boolean {
    return this.#wanted && this.#listeners.length > 0
  }

  /** How many wait at all listeners; `undefined` if one of them does not say. */
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

  /** Somebody was turned away, and is to be told. */
  want(): void {
    this.#wanted = true
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
