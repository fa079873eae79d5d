import type { LinkedList } from '../linked-list.js'
import type { QueuedRequest } from './queued-request.js'

/** Requests, of equal durations, over which the mean cost of a flow is taken. */
export const MEMORY: number = 32

/** What one flow has: its running requests, oldest first, and its waiting ones. */
export interface FlowRecord {
  /** As its last arrival had them. */
  weight: number
  most: number
  readonly running: LinkedList<QueuedRequest>
  waiting: number
  /** Slots and units that the running requests take. */
  width: number
  units: number
  /** The same with the waiting ones. */
  wantedWidth: number
  wantedUnits: number
  /** Number of all of these. */
  requests: number
  /** The most that one was expected to cost. */
  costliest: number
  /** Of those that ended: how long they ran, the squares of that, and how long they ran times what they cost; fading. */
  ranMs: number
  ranSquared: number
  ranCost: number
  /** The larger of its two shares of the slots when that was last counted, and the smaller. */
  share: number
  sure: number
  /** Slots times milliseconds by which it has had less than its share, as far as that is kept; up to this time. */
  balance: number
  balancedMs: number
  /** How often all had been forgiven what they owe. */
  era: number
  /** It waits, and would be within the smaller share with one more request. */
  isShort: boolean
}

export const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is due, as a rate: its weight over their mean cost. Each counts for as long as it ran, so that
 * cheap ones that wait, or end at once, gain nothing; until one has, the costliest counts.
 */
export const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
export const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/** Of many of equal durations it remembers about 32, and as much of others as that is worth. */
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
