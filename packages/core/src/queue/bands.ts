import { FairQueue, type FairQueueOptions, type Standing } from '../sfq/index.js'
import { Appointments, UNKNOWN_MS } from './appointments.js'
import { Average } from './average.js'
import { Backlogs } from './backlogs.js'
import { DrainRate } from './drain-rate.js'

/** Starts over which the mean cost is averaged. */
const MEAN_MEMORY = 100
/** Mean costs of credit that a band may save up. */
const MOST_CREDIT = 10
/** A cost is covered by credit this close to it: sums of fractions need not be exact. */
const CLOSE = 1 - 1e-9

/** A band of the room: a fair queue of its own, and what it is promised beside the bands above. */
export class Band<T> {
  /** 0 is the highest. */
  readonly index: number
  readonly queue: FairQueue<T>
  /** Share of the cost started that it gets at least, while it waits. */
  readonly minShare: number
  readonly drain: DrainRate = new DrainRate()
  readonly backlogs: Backlogs = new Backlogs()
  readonly appointments: Appointments = new Appointments()
  /** Cost that it may start before its betters. */
  credit = 0
  /** Requests that wait: those in the queue, and one that left it but is too wide for the slots free. */
  waiting = 0

  constructor(index: number, minShare: number, options: FairQueueOptions) {
    this.index = index
    this.minShare = minShare
    this.queue = new FairQueue(options)
  }

  /** A request of this band starts to wait. */
  came(nowMs: number): void {
    if (this.waiting++ === 0) this.drain.set(true, nowMs)
  }

  /** One waits no more, whatever became of it. */
  left(nowMs: number): void {
    if (--this.waiting > 0) return
    this.drain.set(false, nowMs)
    this.credit = 0
  }

  /**
   * How long a refused client should stay away, in milliseconds: until what its flow has waiting will have been served,
   * except for the last `mayWaitMs`, and those of its flow that were refused before it.
   */
  comeBackMs(
    { flow, cost }: Asking,
    standing: Pick<Standing, 'cost' | 'share'>,
    mayWaitMs: number,
    nowMs: number,
  ): number {
    const perMs = this.drain.perMs(nowMs)
    if (perMs === undefined) return UNKNOWN_MS
    const own = standing.share * perMs
    return this.appointments.give(flow, Math.max(0, standing.cost / own - mayWaitMs), cost / own, nowMs)
  }

  /** The same where not the flow but the band is too long. (A flow's name is never empty.) */
  comeBackToAllMs(cost: number, nowMs: number): number {
    const perMs = this.drain.perMs(nowMs)
    return perMs === undefined ? UNKNOWN_MS : this.appointments.give('', this.queue.cost / perMs, cost / perMs, nowMs)
  }
}

/** Who asks. */
interface Asking {
  readonly flow: string
  readonly cost: number
}

/**
 * Chooses between bands. The highest that waits comes first, except that a band with a minimum share earns that part of
 * every cost that starts while it waits, and goes first when its credit covers its head. What it saves up is bounded by
 * ten mean costs, or its head's; it has none when nothing of it waits.
 *
 * A start is paid from the band's credit whether the credit brought it about or the band was the highest anyway: a
 * minimum share is part of what a band gets, not on top of it. O(bands) per start.
 */
export class Bands<T> {
  readonly all: readonly Band<T>[]
  readonly #shared: boolean
  readonly #meanCost = new Average(MEAN_MEMORY)

  constructor(all: readonly Band<T>[]) {
    this.all = all
    this.#shared = all.some(({ minShare }) => minShare > 0)
  }

  /** Whether something waits in the queue of `band` or of a higher one. */
  anyUpTo(band: Band<T>): boolean {
    for (let i = 0; i <= band.index; i++) if (this.all[i]!.queue.waiting > 0) return true
    return false
  }

  /**
   * The request that comes next; `undefined` if none waits in a queue. Those of which `isGone` says so at their turn
   * are dropped from their queue, and cost their flow nothing. In its band, one of which `mayStart` says no comes only
   * if that is so of all.
   */
  next(isGone: (item: T) => boolean, mayStart?: (item: T) => boolean): T | undefined {
    for (let i = this.all.length - 1; i > 0; i--) {
      const band = this.all[i]!
      if (band.minShare === 0 || band.queue.waiting === 0) continue
      const head = band.queue.peek(isGone, mayStart)
      if (head !== undefined && band.credit >= head.cost * CLOSE) return head.item
    }
    for (const { queue } of this.all) {
      const head = queue.waiting > 0 ? queue.peek(isGone, mayStart) : undefined
      if (head !== undefined) return head.item
    }
    return undefined
  }

  /** A request of `band` has had its turn; it is out of the queue. Gives the credit that it took. */
  started(band: Band<T>, cost: number): number {
    if (!this.#shared) return 0
    this.#meanCost.add(cost)
    let paid = 0
    for (const each of this.all) {
      if (each.minShare === 0) continue
      if (each.queue.waiting === 0) {
        each.credit = 0
        continue
      }
      const most = Math.max(MOST_CREDIT * this.#meanCost.value, each.queue.peek()!.cost)
      each.credit = Math.min(most, each.credit + each.minShare * cost)
      if (each !== band) continue
      paid = Math.min(each.credit, cost)
      each.credit -= paid
    }
    return paid
  }

  /** A request that had its turn, and took so much credit, will not run after all. */
  refund(band: Band<T>, paid: number): void {
    if (band.queue.waiting > 0) band.credit += paid
  }
}
