import type { Outcome } from '../admission/outcome.js'
import type { FairOptions } from './options.js'
import type { FlowKey, Placement } from './placement.js'

/** Details of a refusal. */
export interface FairRefusal {
  /** Expected time until the flow is admitted, in milliseconds. */
  readonly retryAfterMs: number
  /** The numbers behind the decision. */
  readonly detail: Readonly<Record<string, unknown>>
}

/** The part of a rule that a tracker needs. Keys are digested by the rule's placement, times never run back. */
export interface FairRule<Explanation, State> {
  readonly placement: Placement
  /** A request arrives: false if it should be refused. Stores the basis of the decision in the key. */
  register(key: FlowKey, cost: number, nowMs: number): boolean
  /** Details of the refusal that `register` has just decided for this key. */
  refusal(key: FlowKey, nowMs: number): FairRefusal
  /** Outcome of an admitted request, and its actual cost. */
  report(key: FlowKey, outcome: Outcome, cost: number, nowMs: number): void
  /** An admitted request still runs, with this cost so far. Absent in rules that ignore costs. */
  charge?(key: FlowKey, costSoFar: number, nowMs: number): void
  /** An admitted request never ran, for a reason other than shortage. */
  withdraw(key: FlowKey, nowMs: number): void
  /** Clears the flow's past demand and outcomes. */
  forget(key: FlowKey): void
  /** The chance that a request of the flow would be refused now. Changes nothing. */
  probability(key: FlowKey, nowMs: number): number
  explain(key: FlowKey, nowMs: number): Explanation
  /** True during a shortage, if the rule knows. */
  readonly engaged?: boolean
  /** True while arriving and served requests change no answer: all are admitted until one fails. */
  readonly isCalm?: boolean
  /** This many rotations are due: changes the places of flows. After several, no old state is left. */
  rotate(rotations: number, nowMs: number): void
  /** Different options of a tracker for another resource. */
  optionsOf?(resource: string): Partial<FairOptions>
  /** Settings and state, as plain JSON. */
  snapshot(nowMs: number): State
}
