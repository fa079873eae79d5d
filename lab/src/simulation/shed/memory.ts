/** Memory that requests hold while they run, as a share of its limit. */
export interface Memory {
  /** Reading of a meter at `nowMs`. */
  reading(nowMs: number): number
  /** A request of this size begins; false if that exceeds the memory. */
  take(size: number, nowMs: number): boolean
  give(size: number, nowMs: number): void
}

/** Memory of an idle process. */
const BASE = 0.3

/** Memory that is returned as soon as a request ends. */
export class PlainMemory implements Memory {
  #held = BASE

  reading(): number {
    return this.#held
  }

  take(size: number): boolean {
    this.#held += size
    return this.#held < 1
  }

  give(size: number): void {
    this.#held -= size
  }
}

/** A resident set that retains memory: it falls by 0.05 % a second, down to the held memory. */
export class StickyMemory implements Memory {
  readonly #held = new PlainMemory()
  #resident = BASE
  #atMs = 0

  reading(nowMs: number): number {
    const seconds = (nowMs - this.#atMs) / 1_000
    this.#resident = Math.max(this.#held.reading(), this.#resident * (1 - 0.0005) ** seconds)
    this.#atMs = nowMs
    return this.#resident
  }

  take(size: number, nowMs: number): boolean {
    const fits = this.#held.take(size)
    this.reading(nowMs)
    return fits
  }

  give(size: number, nowMs: number): void {
    this.reading(nowMs)
    this.#held.give(size)
  }
}

/**
 * A collected heap: a request's memory is garbage when it ends, and as much again dies immediately when it begins. All
 * garbage is freed in a major collection, when the heap has reached twice the live size after the last one, at most
 * 0.97.
 */
export class CollectedHeap implements Memory {
  /** Called at the end of a major collection, with the live size. */
  onCollected: ((live: number) => void) | undefined

  #live = BASE
  #used = BASE
  #collectAt = 2 * BASE

  reading(): number {
    return this.#used
  }

  take(size: number): boolean {
    this.#live += size
    this.#used += 2 * size
    if (this.#used >= this.#collectAt) {
      this.#used = this.#live
      this.#collectAt = Math.min(0.97, 2 * this.#live)
      this.onCollected?.(this.#live)
    }
    return this.#used < 1
  }

  give(size: number): void {
    this.#live -= size
  }
}
