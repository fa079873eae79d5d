/** Waits for a time, or until it is woken. To be woken between two waits ends the second at once: nothing is missed. */
export class Pause {
  #woken = false
  #end: (() => void) | undefined

  wake(): void {
    this.#woken = true
    this.#end?.()
  }

  /** Fulfilled after `ms` milliseconds, or as soon as somebody wakes it. One at a time. */
  async for(ms: number): Promise<void> {
    if (!this.#woken)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#end = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#end = undefined
    this.#woken = false
  }
}
