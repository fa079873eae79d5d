import type { Capacity } from './capacity.js'
import type { Outstanding } from './outstanding.js'
import type { Overflow } from './overflow.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'
import type { Workers } from './workers.js'

/** The level at which the clock keeps its pace: at least so many requests, and at most so many and so many seconds. */
const LEAST_TARGET_REQUESTS = 1.5
const TARGET_REQUESTS = 2
const MOST_TARGET_SECONDS = 0.25
/** The modest start: this many seconds' worth of capacity above `TARGET_REQUESTS`. */
const TARGET_SECONDS = 0.1

/** What the reservoir holds at most: so many requests, so many seconds' worth, and so many times the target. */
const MOST_REQUESTS = 12
const MOST_SECONDS = 0.5
const MOST_TARGETS = 4
/** Share of that from which on the resource counts as full: what comes in then may run over. */
const FULL = 0.8

/** Of a pool of workers: so many free ones are the target, by the root of their number, but no more than a share. */
const FREE_BY_ROOT = 0.8
const MOST_FREE = 0.5

/**
 * Flows may be ahead of the clock by what there is beyond this part of the target, but by no more than so many
 * requests.
 */
const AHEAD_FROM = 0.5
const MOST_AHEAD_REQUESTS = 4

/**
 * What the resource is thought to have to spare: filled at its capacity, emptied by what is admitted. Below 0 the
 * resource is known to be short. The resource's own buffer may be of any size; this model need not be as large.
 */
export class Reservoir {
  /** Cost that could be served at once. */
  level = 0
  /** The level at which the clock runs at the fair rate: below it slower, above it faster. */
  target = 3
  /** The most it holds. */
  size = 12
  /** Highest level since the last failure. */
  peak = 0
  /** How much of the level came from probing: beyond what the measured capacity brings. */
  probed = 0
  /** Seconds of the last step in which there was something to spare, and the mean level in them. */
  spareSeconds = 0
  spareLevel = 0

  /** Fits target and size to what is known. */
  fit({ probedPerSecond }: Step, capacity: Capacity, traffic: Traffic, { cushion }: Overflow): void {
    const { meanCost } = traffic
    this.target = Math.min(
      Math.max(cushion * modestTarget(capacity, traffic), LEAST_TARGET_REQUESTS * meanCost),
      TARGET_REQUESTS * meanCost + MOST_TARGET_SECONDS * capacity.perSecond,
    )
    this.size = Math.max(MOST_REQUESTS * meanCost, MOST_SECONDS * probedPerSecond, MOST_TARGETS * this.target)
  }

  /** Time passes, and what the resource brings flows in. */
  fill({ seconds, probedPerSecond }: Step, { perSecond }: Capacity): void {
    this.probed += (probedPerSecond - perSecond) * seconds
    const before = this.level
    this.level = Math.min(this.size, before + probedPerSecond * seconds)
    if (this.level > this.peak) this.peak = this.level
    if (this.level <= 0) this.spareSeconds = 0
    else if (before > 0) {
      this.spareSeconds = seconds
      this.spareLevel = (before + this.level) / 2
    } else {
      this.spareSeconds = (this.level / (this.level - before)) * seconds
      this.spareLevel = this.level / 2
    }
  }

  /** A shortage begins: nothing is to spare. */
  begin(step: Step, capacity: Capacity, traffic: Traffic, overflow: Overflow): void {
    this.fit(step, capacity, traffic, overflow)
    this.level = 0
    this.probed = 0
    this.peak = 0
  }

  /** The same of a pool of workers: as many as are not busy, and more if there has been no failure for long. */
  mirror({ seconds, trust }: Step, { meanCost }: Traffic, workers: Workers, busy: Outstanding): void {
    const free = meanCost * (workers.count * (1 + trust * trust) - busy.count)
    const target = Math.max(1, Math.min(FREE_BY_ROOT * Math.sqrt(workers.count), MOST_FREE * workers.count))
    this.target = meanCost * target
    this.size = Math.max(MOST_TARGETS * this.target, FULL * meanCost * workers.count)
    this.level = free
    this.spareLevel = free
    this.spareSeconds = free > 0 ? seconds : 0
  }

  /** A request is let in. */
  take(cost: number): void {
    this.level = Math.max(this.level - cost, -this.target)
  }

  /** What was taken was not used. */
  putBack(cost: number): void {
    this.level = Math.min(this.size, this.level + cost)
  }

  /** Something was served although the level said that there was nothing: so there was. */
  correctUp(): void {
    if (this.level >= 0) return
    this.probed = Math.max(0, this.probed - this.level)
    this.level = 0
  }

  /** Something failed: whatever the level says, there is no more than `left`. */
  correctDown(left: number): void {
    if (this.level > left) this.level = left
    this.probed = 0
  }

  /**
   * How far ahead of the clock a flow of weight 1 may be, and yet be let in. Who comes first then has what is to spare
   * at once, instead of when the clock gets there; nobody has more of it in the end, for the tag keeps count.
   */
  ahead({ meanCost }: Traffic): number {
    return Math.max(0, Math.min(this.level - AHEAD_FROM * this.target, MOST_AHEAD_REQUESTS * meanCost))
  }

  /** The resource may be full, whatever the level says: less is let in than it brings. */
  mayRunOver(): void {
    if (this.size > this.peak) this.peak = this.size
  }

  get full(): boolean {
    return this.level >= FULL * this.size
  }

  /** True if it was full at some time since the last failure: then what came in may have run over. */
  get wasFull(): boolean {
    return this.peak >= FULL * this.size
  }
}

/** The target before anything is known about the resource's own buffer. */
export function modestTarget({ perSecond }: Capacity, { meanCost }: Traffic): number {
  return TARGET_REQUESTS * meanCost + TARGET_SECONDS * perSecond
}
