import { LinkedList } from '../linked-list.js'
import type { QueuedRequest } from './queued-request.js'

/** Number of requests, of equal durations, over which the mean cost of a flow is taken. */
export const MEMORY: number = 32

/** State of one flow: the list of its running requests, oldest first, and numbers of those and the waiting ones. */
export class FlowRecord extends LinkedList<QueuedRequest> {
  /** From its last arrival. */
  weight: number
  most: number
  waiting = 0
  /** Slots and units that the running requests take. */
  width = 0
  units = 0
  /** The same including the waiting ones. */
  wantedWidth = 0
  wantedUnits = 0
  /** Number of all of these. */
  requests = 0
  /** The largest expected cost of one. */
  costliest = 0
  /** Of ended requests: their durations, the squares of those, and the products of duration and cost; decaying. */
  ranMs = 0
  ranSquared = 0
  ranCost = 0
  /** The larger of its two shares of the slots at the last update, and the smaller. */
  share: number = Number.POSITIVE_INFINITY
  sure = 0
  /** Slots times milliseconds that it lacks from its share, within bounds; up to this time. */
  balance = 0
  balancedMs = 0
  /** Number of times that all debts had been forgiven. */
  era: number
  /** It waits, and would be within the smaller share with one more request. */
  isShort = false

  constructor(weight: number, most: number, era: number) {
    super()
    this.weight = weight
    this.most = most
    this.era = era
  }

  /** The same numbers, without the list. */
  copy(): FlowRecord {
    return Object.assign(new FlowRecord(1, 1, 0), this, { first: undefined, last: undefined })
  }

  /** Among many requests of equal duration it remembers about 32, and others in proportion to their duration. */
  learn(ranMs: number, cost: number): void {
    this.ranMs += ranMs
    this.ranSquared += ranMs * ranMs
    this.ranCost += ranMs * cost
    const fade = (MEMORY * this.ranSquared) / this.ranMs ** 2
    if (!(fade < 1)) return
    this.ranMs *= fade
    this.ranSquared *= fade
    this.ranCost *= fade
  }
}

export const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is entitled to, as a rate: its weight over their mean cost. Each is weighted by its duration, so
 * that cheap ones that wait, or end at once, gain nothing; until one has ended, the costliest counts.
 */
export const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
export const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)
