/** An item to be woken in a given second. */
export interface Waking {
  /** The second of its earliest place in the wheel; 0 if it is not in the wheel. */
  wakeAt: number
}

const SLOTS = 256

/**
 * A wheel of one-second slots. Postponing a deadline is free: `wake` reschedules an item that is early when its slot is
 * due, so each item is touched about once per deadline, even if the deadline moves often.
 */
export class ExpiryWheel<T extends Waking> {
  /** Made on first use: most resources have few clients. */
  readonly #slots = new Map<number, T[]>()
  #now = 0
  /** Up to this second everything due has been woken. */
  #turned = 0

  /** True while a due item has not been woken yet. */
  get behind(): boolean {
    return this.#turned < this.#now
  }

  /** Makes sure that `item` is woken in that second, or earlier. A second too far ahead is moved to the last slot. */
  schedule(item: T, second: number): void {
    const at = Math.min(Math.max(second, this.#now + 1), this.#now + SLOTS - 1)
    if (item.wakeAt > this.#now && item.wakeAt <= at) return
    item.wakeAt = at
    this.#slot(at).push(item)
  }

  /** Removes the item: it will not be woken. */
  forget(item: T): void {
    item.wakeAt = 0
  }

  /**
   * Advances to `second`, and calls `wake` for due items, at most `most` of them: the rest waits for the next call.
   * `wake` should schedule items again that continue. Returns the number woken.
   */
  advance(second: number, wake: (item: T) => void, most: number = Number.POSITIVE_INFINITY): number {
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
          return most
        }
        // After a long gap the wheel turns once, and meets items that were just rescheduled.
        if (item.wakeAt > this.#now && item.wakeAt % SLOTS === at % SLOTS) this.#slot(at).push(item)
        // An earlier entry may belong to an item that was removed, or brought forward and woken.
        if (item.wakeAt === 0 || item.wakeAt > this.#now) continue
        left--
        item.wakeAt = 0
        wake(item)
      }
    }
    this.#turned = this.#now
    return most - left
  }

  #slot(second: number): T[] {
    const present = this.#slots.get(second % SLOTS)
    if (present !== undefined) return present
    const slot: T[] = []
    this.#slots.set(second % SLOTS, slot)
    return slot
  }
}
