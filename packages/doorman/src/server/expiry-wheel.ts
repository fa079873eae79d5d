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
  /** Made when they are used: most resources have few clients. */
  readonly #slots = new Map<number, T[]>()
  #now = 0
  /** Up to this second everything due has been woken. */
  #turned = 0

  /** Something that is due has not been woken yet. */
  get behind(): boolean {
    return this.#turned < this.#now
  }

  /** Makes sure that `item` is woken in that second, or earlier. A second too far off is cut to what fits. */
  schedule(item: T, second: number): void {
    const at = Math.min(Math.max(second, this.#now + 1), this.#now + SLOTS - 1)
    if (item.wakeAt > this.#now && item.wakeAt <= at) return
    item.wakeAt = at
    this.#slot(at).push(item)
  }

  /** Takes it out: it is not woken any more. */
  forget(item: T): void {
    item.wakeAt = 0
  }

  /**
   * Moves on to `second`, and calls `wake` for what is due, `most` at a time: the rest waits for the next call. It
   * should schedule again what goes on.
   */
  advance(second: number, wake: (item: T) => void, most: number = Number.POSITIVE_INFINITY): void {
    this.#now = Math.max(this.#now, second)
    let left = most
    const first = Math.max(this.#turned + 1, this.#now - SLOTS + 1)
    for (let at = first; at <= this.#now && this.#slots.size > 0; at++) {
      const due = this.#slots.get(at % SLOTS)
      if (due === undefined) continue
      this.#slots.delete(at % SLOTS)
      for (const [i, item] of due.entries()) {
        if (left === 0) {
          this.#slots.set(at % SLOTS, due.slice(i).concat(this.#slots.get(at % SLOTS) ?? []))
          this.#turned = at - 1
          return
        }
        // After a long time the wheel turns once, and meets those that were just put in again.
        if (item.wakeAt > this.#now && item.wakeAt % SLOTS === at % SLOTS) this.#slot(at).push(item)
        // What stands here from earlier may have been forgotten, or brought forward and woken.
        if (item.wakeAt === 0 || item.wakeAt > this.#now) continue
        left--
        item.wakeAt = 0
        wake(item)
      }
    }
    this.#turned = this.#now
  }

  #slot(second: number): T[] {
    const present = this.#slots.get(second % SLOTS)
    if (present !== undefined) return present
    const slot: T[] = []
    this.#slots.set(second % SLOTS, slot)
    return slot
  }
}
