import type { Quota } from './decision.js'
import type { Outcome } from './outcome.js'
import type { Refusal } from './refusal.js'

/** What a stage sees of a request. One object per request: stages read it, and may leave a hint for later ones. */
export interface Passage {
  /**
   * What we are fair between: a tenant, an API key, an address. Never empty, at most 256 UTF-16 units. Of a path its first
   * name: a stage that knows of no levels is fair between those.
   */
  readonly flow: string
  /** All names, from the first level on, where the flow is a path: two to four, each like a flow. */
  readonly path?: readonly string[] | undefined
  /** What the request is expected to cost, in the units of the service; above 0. */
  readonly cost: number
  /** What the request will use, where it is not what all use. Never empty, at most 256 UTF-16 units. */
  readonly resource: string | undefined
  /** From -2 (give it up first) to 2 (give it up last); 0 is ordinary. */
  readonly priority: number
  /** True for what must never be refused for load (health checks). It is still counted. */
  readonly exempt: boolean
  /** The gate's clock at the decision, in milliseconds: one reading shared by all stages. */
  readonly nowMs: number
  /**
   * Fires when the client is gone. A stage that waits must give the place up at once; one that does not wait should
   * not read it, because it may be made by the first reading.
   */
  readonly signal: AbortSignal | undefined
  /** What a handler of the framework gets, where the request came by one: for functions in the options of stages. */
  readonly target?: readonly unknown[] | undefined
  /** A hint from FAIR to later stages: requests' worth of credit the flow holds. Absent where no stage knows. */
  credit: number | undefined
  /** @internal Asked for that at the first reading: it costs something, and hardly anybody wants to know. */
  lender?: Lender | undefined
}

/** Knows what credit a flow had. */
export interface Lender {
  readonly credit: number | undefined
}

/** Who waits for what a request holds: nobody; others; or others, and its flow holds more than its fair share. */
export type Contest = 'none' | 'others-wait' | 'over-share'

/**
 * What a stage hands out when it admits: it hears how the request ended, by `finish` or `undo`, once.
 * One shared object may serve all requests of a stage that keeps nothing per request.
 */
export interface Hold {
  /**
   * The request ran and ended. `cost` is what it really cost, if `isNamed`: the caller has said so, by `finish` or by
   * charges. Else nobody has, and it is the cost that the request was admitted with.
   */
  finish(outcome: Outcome, cost: number, nowMs: number, isNamed?: boolean): void
  /**
   * The request still runs, and has cost `costSoFar` in all, more than at the last call. Only of stages that charge what
   * runs; it may be called often, and `finish` is still the last word.
   */
  charge?(costSoFar: number, nowMs: number): void
  /** A later stage refused, or the client left while it waited: give back what was taken; nothing ran. */
  undo(refusal: Refusal, nowMs: number): void
  /**
   * The flow's quota, as it was when the request was admitted; `elapsedMs` have passed since it was asked about. Only
   * of stages that have quotas; undefined once the window is over. Asked on behalf of the client, and perhaps never.
   */
  quota?(elapsedMs: number): Quota | undefined
  /** Who waits for what the request holds, now. Only of stages that hold something while it runs. */
  contest?(): Contest
}

/** A stage's answer: a {@link Refusal}, or admission: a {@link Hold}, or nothing where nothing is to be given back. */
export type Verdict = Hold | Refusal | undefined

/**
 * One question that a request must pass. Anyone may write one; see `docs/stages.md`.
 *
 * A stage answers synchronously unless it really has to wait or to ask another machine.
 */
export interface Stage {
  /** Appears in decisions, events and snapshots; unique within a gate. */
  readonly name: string
  /** Refuses (returns what `refuse()` makes) or admits (returns a hold, or nothing), now or later. */
  admit(passage: Passage): Verdict | Promise<Verdict>
  /**
   * What the gate does when `admit` throws, rejects, or outlasts `deadlineMs`: go on without this stage, or refuse.
   * @default 'admit'
   */
  readonly onError?: 'admit' | 'refuse'
  /** Longest a promise of `admit` may take, in milliseconds. Without it the stage bounds its own waiting. */
  readonly deadlineMs?: number
  /**
   * True if a promise of `admit` is settled at once when the request's signal fires or the stage is closed. Then the
   * gate need not watch out for that itself, which makes waiting cheaper. @default false
   */
  readonly prompt?: boolean
  /** True while there is a shortage and the stage holds flows to their shares. Read after decisions: O(1). */
  readonly engaged?: boolean
  /** Plain JSON for people, metrics and pages. */
  snapshot?(): unknown
  /** What the stage knows of a flow, and would decide by, as plain JSON: see `gate.explain()`. Changes nothing. */
  explain?(flow: string): unknown
  /** Nothing of the flow's past counts any more, see `gate.resetFlow()`. What of it runs or waits goes on. */
  forget?(flow: string): void
  /** Does what its timers would do, if they have not: see `gate.wake()`. */
  wake?(nowMs: number): void
  /** The gate closes: wake and refuse what waits, hold no timer. */
  close?(): void
}
