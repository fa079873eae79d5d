import type { Outcome } from '../admission/outcome.js'
import type { FairOptions } from './options.js'
import type { FlowKey, Placement } from './placement.js'

/** Why a request was refused. */
export interface FairRefusal {
  /** When the flow can expect to be let in, in milliseconds from now. */
  readonly retryAfterMs: number
  /** The numbers that decided. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** What a tracker asks of the rule that it follows. Keys are digested by the rule's placement, times never run back. */
export interface FairRule<Explanation, State> {
  readonly placement: Placement
  /** A request arrives: false if it should be refused. Leaves in the key what the decision was made by. */
  register(key: FlowKey, cost: number, nowMs: number): boolean
  /** Why `register` has just refused a request by this key. */
  refusal(key: FlowKey, nowMs: number): FairRefusal
  /** How an admitted request ended, and what it really cost. */
  report(key: FlowKey, outcome: Outcome, cost: number, nowMs: number): void
  /** An admitted request still runs, and has cost this so far. Not of rules that take no account of costs. */
  charge?(key: FlowKey, costSoFar: number, nowMs: number): void
  /** An admitted request never ran, for a reason that is no shortage. */
  withdraw(key: FlowKey, nowMs: number): void
  /** Nothing that the flow has asked for, and nothing that it met, counts any more. */
  forget(key: FlowKey): void
  /** The chance that a request of the flow would be refused now. Changes nothing. */
  probability(key: FlowKey, nowMs: number): number
  explain(key: FlowKey, nowMs: number): Explanation
  /** True while there is a shortage, where the rule knows. */
  readonly engaged?: boolean
  /** True while requests that come, and those that are served, change no answer: all are let in until one fails. */
  readonly isCalm?: boolean
  /** This many rotations are due: gives the flows other places. After several, nothing old is left in them. */
  rotate(rotations: number, nowMs: number): void
  /** Options in which a tracker for another resource differs. */
  optionsOf?(resource: string): Partial<FairOptions>
  /** Settings and state, as plain JSON. */
  snapshot(nowMs: number): State
}
