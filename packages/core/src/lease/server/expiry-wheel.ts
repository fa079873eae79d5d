/** Something that is looked at again when its second has come. */
export interface Waking {
  /** The second of its earliest place in the wheel; 0 outside. */
  wakeAt: number
}

const SLOTS = 256

/**
 * A wheel of one-second slots. Putting a deadline off costs nothing: what is found to be early when its slot is due
 * is put in again by whoever is woken, so each thing is touched about once per deadline, however often that moves.
 */
export class ExpiryWheel<T extends Waking> {
  readonly #slots: T[][] = Array.from({ length: SLOTS }, () => [])
  #now = 0

  /** Makes sure that `item` is woken in that second, or earlier. A second too far off is cut to what fits. */
  schedule(item: T, second: number): void {
    const at = Math.min(Math.max(second, this.#now + 1), this.#now + SLOTS - 1)
    if (item.wakeAt > this.#now && item.wakeAt <= at) return
    item.wakeAt = at
    this.#slots[at % SLOTS]!.push(item)
  }

  /** Takes it out: it is not woken any more. */
  forget(item: T): void {
    item.wakeAt = 0
  }

  /** Moves on to `second`, and calls `wake` for all that is due. It should schedule again what goes on. */
  advance(second: number, wake: (item: T) => void): void {
    if (second <= this.#now) return
    const first = Math.max(this.#now + 1, second - SLOTS + 1)
    this.#now = second
    for (let at = first; at <= second; at++) {
      const due = this.#slots[at % SLOTS]!
      if (due.length === 0) continue
      const stay: T[] = []
      this.#slots[at % SLOTS] = stay
      for (const item of due) {
        // After a long time the wheel turns once, and meets those that were just put in again.
        if (item.wakeAt > second && item.wakeAt % SLOTS === at % SLOTS) stay.push(item)
        // What stands here from earlier may have been forgotten, or brought forward and woken.
        if (item.wakeAt === 0 || item.wakeAt > second) continue
        item.wakeAt = 0
        wake(item)
      }
    }
  }
}
