import type { Bucket } from './child-ledger.js'
import type { Rules } from './rules.js'
import { SortedBlocks } from './sorted-blocks.js'

/** So many bands may stay although they are empty: a lone client that changes its wants leaves its band each time. */
const MOST_EMPTY = 8
/** Priorities beyond that number join the band next to them: a division looks at each band. */
const MOST_BANDS = 64

/** Everything of one priority. */
export class PriorityBand {
  readonly priority: number
  minimumShare: number
  readonly blocks: SortedBlocks<Bucket> = new SortedBlocks()
  /** What it is worth at present, and the level that follows; NaN while nobody has asked. */
  capacity = 0
  level: number = Number.NaN

  constructor(priority: number, minimumShare: number) {
    this.priority = priority
    this.minimumShare = minimumShare
  }
}

/** What of the rules the bands go by. */
export type Division = Pick<Rules, 'minimumShares' | 'headroom'>

/**
 * Divides a capacity: higher bands are served first, each up to what it wants, but every band gets its minimum share
 * before that; inside a band, weighted max-min. While all that is wanted fits, there is head-room above it.
 */
export class PriorityBands {
  #minimumShares: ReadonlyMap<number, number>
  #headroom: number
  readonly #bands: PriorityBand[] = []
  #wants = 0
  #subclients = 0
  #capacity = Number.NaN
  /** What everybody gets above the wants, as a part of them; below 0 when not all that is wanted fits. */
  #above = -1

  constructor({ minimumShares, headroom }: Division) {
    this.#minimumShares = minimumShares
    this.#headroom = headroom
  }

  /** Divides by other rules from now on; everything stays in its place. O(bands). */
  govern({ minimumShares, headroom }: Division): void {
    this.#minimumShares = minimumShares
    this.#headroom = headroom
    for (const band of this.#bands) band.minimumShare = minimumShares.get(band.priority) ?? 0
    this.#changed()
  }

  /** What all want together. */
  get wants(): number {
    return this.#wants
  }

  get subclients(): number {
    return this.#subclients
  }

  /** The highest first. */
  get all(): readonly PriorityBand[] {
    return this.#bands
  }

  /** Takes a bucket in, of whose wants `counted` count. O(log n). */
  enter(bucket: Bucket, counted: number): void {
    const band = this.#band(bucket.priority)
    bucket.band = band
    bucket.counted = counted
    band.blocks.add(bucket, counted, bucket.mass)
    this.#subclients += bucket.subclients
    this.#changed()
  }

  /** Other wants of a bucket that stays in its band count from now on. O(log n). */
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

  /** What a bucket should have when `capacity` is divided among all. O(log n), O(1) while nothing changes. */
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
