import type { LinkedList } from '../linked-list.js'
import type { QueuedRequest } from './queued-request.js'

/** Number of requests, of equal durations, over which the mean cost of a flow is taken. */
export const MEMORY: number = 32

/** State of one flow: its running requests, oldest first, and its waiting ones. */
export interface FlowRecord {
  /** From its last arrival. */
  weight: number
  most: number
  readonly running: LinkedList<QueuedRequest>
  waiting: number
  /** Slots and units that the running requests take. */
  width: number
  units: number
  /** The same including the waiting ones. */
  wantedWidth: number
  wantedUnits: number
  /** Number of all of these. */
  requests: number
  /** The largest expected cost of one. */
  costliest: number
  /** Of ended requests: their durations, the squares of those, and the products of duration and cost; decaying. */
  ranMs: number
  ranSquared: number
  ranCost: number
  /** The larger of its two shares of the slots at the last update, and the smaller. */
  share: number
  sure: number
  /** Slots times milliseconds that it lacks from its share, within bounds; up to this time. */
  balance: number
  balancedMs: number
  /** Number of times that all debts had been forgiven. */
  era: number
  /** It waits, and would be within the smaller share with one more request. */
  isShort: boolean
}

export const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is entitled to, as a rate: its weight over their mean cost. Each is weighted by its duration, so
 * that cheap ones that wait, or end at once, gain nothing; until one has ended, the costliest counts.
 */
export const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
export const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/** Among many requests of equal duration it remembers about 32, and others in proportion to their duration. */
export function learn(record: FlowRecord, ranMs: number, cost: number): void {
  record.ranMs += ranMs
  record.ranSquared += ranMs * ranMs
  record.ranCost += ranMs * cost
  const fade = (MEMORY * record.ranSquared) / record.ranMs ** 2
  if (!(fade < 1)) return
  record.ranMs *= fade
  record.ranSquared *= fade
  record.ranCost *= fade
}
