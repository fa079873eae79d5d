import type { After, Clock } from '@fairlead/core'
import type { Capacity } from '@fairlead/core/queue'

/** A resource of limited rate: at most `burst` tokens, refilled at `perSecond`. It starts full. */
export class TokenBucket {
  readonly perSecond: number
  readonly burst: number
  readonly #clock: Clock
  #tokens: number
  #atMs: number

  constructor({ perSecond, burst }: { perSecond: number; burst: number }, clock: Clock) {
    this.perSecond = perSecond
    this.burst = burst
    this.#clock = clock
    this.#tokens = burst
    this.#atMs = clock()
  }

  /** Takes `count` tokens, or returns `false`: the resource is exhausted. */
  take(count = 1): boolean {
    this.#fill()
    if (this.#tokens < count) return false
    this.#tokens -= count
    return true
  }

  /** Returns tokens that were taken and not used. */
  putBack(count: number): void {
    this.#tokens = Math.min(this.burst, this.#tokens + count)
  }

  /** Milliseconds until `count` tokens are available, if none is taken before. */
  msUntil(count: number): number {
    this.#fill()
    return (Math.max(0, count - this.#tokens) / this.perSecond) * 1_000
  }

  #fill(): void {
    const nowMs = this.#clock()
    this.#tokens = Math.min(this.burst, this.#tokens + ((nowMs - this.#atMs) * this.perSecond) / 1_000)
    this.#atMs = nowMs
  }
}

/**
 * The bucket as the capacity of a queue: a request that starts has its token, so a handler behind that queue takes
 * none. A token is consumed, not borrowed: it returns with time, not with the end of the request.
 */
export class BucketCapacity implements Capacity {
  readonly limit: number
  readonly maximum: number
  readonly inFlight = 0
  readonly #bucket: TokenBucket
  readonly #after: After
  readonly #listeners = new Set<() => void>()
  /** A request was refused and its queue is to be notified. */
  #waiting = false

  constructor(bucket: TokenBucket, after: After) {
    this.limit = bucket.burst
    this.maximum = bucket.burst
    this.#bucket = bucket
    this.#after = after
  }

  tryTake(width: number): boolean {
    if (this.#bucket.take(width)) return true
    if (width <= this.maximum) this.#tellWhenThereAre(width)
    return false
  }

  release(): void {}

  undo(width: number): void {
    this.#bucket.putBack(width)
    if (this.#waiting) this.#tell()
  }

  onAvailable(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  snapshot(): { kind: 'bucket'; perSecond: number; burst: number } {
    return { kind: 'bucket', perSecond: this.#bucket.perSecond, burst: this.#bucket.burst }
  }

  #tellWhenThereAre(count: number): void {
    if (this.#waiting) return
    this.#waiting = true
    this.#after(Math.ceil(this.#bucket.msUntil(count)), () => this.#tell())
  }

  #tell(): void {
    this.#waiting = false
    for (const listener of this.#listeners) listener()
  }
}
