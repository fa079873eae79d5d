/** Entries that may be added, beside four for each present one, before the `Map` is replaced. */
const TURNOVER = 1_024

/**
 * A map whose entries come and go all the time, as flows do.
 *
 * A `Map` in which entries are deleted and added in turn is rehashed again and again, and each discarded table refers
 * to the next one. Once one of them is old, every scavenge keeps all later tables with their entries, until the next
 * full collection. Here they are left behind together: from time to time, the entries move to a new `Map`. O(1)
 * amortised; iterates in order of insertion.
 */
export class TurnoverMap<V> {
  #entries = new Map<string, V>()
  #added = 0

  get entries(): ReadonlyMap<string, V> {
    return this.#entries
  }

  set(key: string, value: V): void {
    if (++this.#added > TURNOVER + 4 * this.#entries.size) {
      this.#added = 0
      this.#entries = new Map(this.#entries)
    }
    this.#entries.set(key, value)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}
