import type { Bucket } from './child-ledger.js'
import type { Rules } from './rules.js'
import { SortedBlocks } from './sorted-blocks.js'

/** Most empty bands that are kept: a lone client that changes its wants leaves its band each time. */
const MOST_EMPTY = 8
/** Priorities beyond this number of bands join the nearest band: a division visits each band. */
const MOST_BANDS = 64

/** The buckets of one priority. */
export class PriorityBand {
  readonly priority: number
  minimumShare: number
  readonly blocks: SortedBlocks<Bucket> = new SortedBlocks()
  /** Its present capacity, and the level that follows; NaN until it is needed. */
  capacity = 0
  level: number = Number.NaN

  constructor(priority: number, minimumShare: number) {
    this.priority = priority
    this.minimumShare = minimumShare
  }
}

/** The rules that the bands use. */
export type Division = Pick<Rules, 'minimumShares' | 'headroom'>

/**
 * Divides a capacity: higher bands are served first, each up to its wants, but every band gets its minimum share before
 * that; inside a band, weighted max-min. While all wants fit, every bucket gets head-room above its own.
 */
export class PriorityBands {
  #minimumShares: ReadonlyMap<number, number>
  #headroom: number
  readonly #bands: PriorityBand[] = []
  #wants = 0
  #subclients = 0
  #capacity = Number.NaN
  /** Head-room above the wants, as a part of them; below 0 if the wants exceed the capacity. */
  #above = -1

  constructor({ minimumShares, headroom }: Division) {
    this.#minimumShares = minimumShares
    this.#headroom = headroom
  }

  /** Applies other rules; all buckets stay in their bands. O(bands). */
  govern({ minimumShares, headroom }: Division): void {
    this.#minimumShares = minimumShares
    this.#headroom = headroom
    for (const band of this.#bands) band.minimumShare = minimumShares.get(band.priority) ?? 0
    this.#changed()
  }

  /** Sum of all wants. */
  get wants(): number {
    return this.#wants
  }

  get subclients(): number {
    return this.#subclients
  }

  /** Highest priority first. */
  get all(): readonly PriorityBand[] {
    return this.#bands
  }

  /** Adds a bucket, of whose wants `counted` count. O(log n). */
  enter(bucket: Bucket, counted: number): void {
    const band = this.#band(bucket.priority)
    bucket.band = band
    bucket.counted = counted
    band.blocks.add(bucket, counted, bucket.mass)
    this.#subclients += bucket.subclients
    this.#changed()
  }

  /** Changes the counted wants of a bucket that stays in its band. O(log n). */
  change(bucket: Bucket, counted: number): void {
    bucket.counted = counted
    bucket.band!.blocks.change(bucket, counted, bucket.mass)
    this.#changed()
  }

  /** O(log n). */
  leave(bucket: Bucket): void {
    const band = bucket.band!
    band.blocks.remove(bucket)
    bucket.band = undefined
    if (band.blocks.size === 0 && this.#bands.length > MOST_EMPTY) this.#bands.splice(this.#bands.indexOf(band), 1)
    this.#subclients -= bucket.subclients
    this.#changed()
  }

  /** A bucket's share when `capacity` is divided among all. O(log n), O(1) while nothing changes. */
  target(bucket: Bucket, capacity: number): number {
    if (capacity !== this.#capacity) this.#divide(capacity)
    if (this.#above >= 0) return bucket.counted * (1 + this.#above)
    const band = bucket.band!
    if (Number.isNaN(band.level)) band.level = band.blocks.level(band.capacity)
    return band.level === Number.POSITIVE_INFINITY ? bucket.counted : Math.min(bucket.counted, band.level * bucket.mass)
  }

  #divide(capacity: number): void {
    this.#capacity = capacity
    const slack = capacity - this.#wants
    this.#above = slack < 0 ? -1 : this.#wants > 0 ? Math.min(this.#headroom, slack / 2 / this.#wants) : 0
    if (this.#above >= 0) return
    let left = capacity
    for (const band of this.#bands) {
      band.capacity = Math.min(band.blocks.wants, band.minimumShare * capacity)
      band.level = Number.NaN
      left -= band.capacity
    }
    for (const band of this.#bands) {
      const more = Math.min(band.blocks.wants - band.capacity, Math.max(0, left))
      band.capacity += more
      left -= more
    }
  }

  #changed(): void {
    this.#capacity = Number.NaN
    let wants = 0
    for (const band of this.#bands) wants += band.blocks.wants
    this.#wants = wants
  }

  #band(priority: number): PriorityBand {
    let at = 0
    for (; at < this.#bands.length; at++) {
      const band = this.#bands[at]!
      if (band.priority === priority) return band
      if (band.priority < priority) break
    }
    if (this.#bands.length === MOST_BANDS) return this.#bands[Math.min(at, MOST_BANDS - 1)]!
    const band = new PriorityBand(priority, this.#minimumShares.get(priority) ?? 0)
    this.#bands.splice(at, 0, band)
    return band
  }
}
