import type { Flow } from '../path.js'
import type { Outcome } from './outcome.js'
import type { Refusal } from './refusal.js'
import type { Contest } from './stage.js'

/** What a caller asks of a gate. */
export interface Ask {
  /**
   * What we are fair between: any non-empty string; from 256 UTF-16 units it is known by its head and a keyed hash. Or a
   * path of up to four, such as `['account', 'key']`: the queue is fair between accounts, and then between the keys of
   * each; the other stages between accounts.
   */
  flow: Flow
  /** Expected cost, above 0, in units of your choice. @default 1 */
  cost?: number
  /**
   * What the request will use, where it may be short while the rest of the service is not: a backend, a route. FAIR
   * measures each of up to 32 such resources on its own. @default one for all requests that name none
   */
  resource?: string | undefined
  /** A whole number from -2 (give it up first) to 2 (give it up last). @default 0 */
  priority?: number
  /** Never refused for load, but counted: health checks. @default false */
  exempt?: boolean
  /** What a handler of the framework gets, for functions in the options of stages: see `quota`. @default none */
  target?: readonly unknown[] | undefined
  /**
   * Fires when the client is gone. If it fires while the request waits, the answer is a refusal with reason `gone`.
   * A function is called once, and only if a stage wants to wait: on Node 20 a signal for every request costs several
   * times as much as the decision. If it throws, or gives something else, an event `error` of the stage `signal` says so,
   * and the request waits without.
   */
  signal?: AbortSignal | (() => AbortSignal) | undefined
}

/** What the caller may say at the end besides the outcome. */
export interface Settlement {
  /** What the request really cost, at least 0. @default the cost it was admitted with or, if it was charged, all charges */
  cost?: number
}

/** Admitted: the request may run, and somebody must say how it ended. */
export interface Permit {
  readonly admitted: true
  /** The flow or, of a path, its first name. */
  readonly flow: string
  /** The whole path, if the flow was one. */
  readonly path: readonly string[] | undefined
  readonly cost: number
  readonly priority: number
  /** How long it waited to be admitted, in milliseconds. */
  readonly waitedMs: number
  /** True once `finish` was called. */
  readonly finished: boolean
  /**
   * Says what more the request has used while it runs, from 0 on: tokens as they stream. The charges count from 0; as
   * soon as they exceed the cost that it was admitted with, or that its stages reserved for it, its flow is charged with
   * the rest: its budget, its turns in the queue, FAIR. `finish` settles all with what it says, else with the sum of the
   * charges. After `finish` this does nothing. Throws a `RangeError` or `TypeError` on a bad `delta`. O(stages).
   */
  charge(delta: number): void
  /**
   * Says how the request ended. Exactly one call counts; later ones do nothing.
   * Throws on an unknown outcome (`TypeError`) or a bad cost (`RangeError`), and then it did not count.
   */
  finish(outcome: Outcome, settlement?: Settlement): void
  /**
   * What is left to the flow with each stage that has quotas, in their order, as it was when the request was admitted,
   * for what is left of their windows. Empty where no stage has any. O(stages).
   */
  quotas(): readonly Quota[]
  /** Who waits for what the request holds: the worst that a stage says. `none` once it has finished. O(stages). */
  contest(): Contest
}

/** Admitted, or refused with the reason and the numbers that decided. */
export type Decision = Permit | Refusal

/**
 * What a stage grants a flow in a window, and what is left of that: for those who want to be told, in whatever words
 * their protocol has. Stages that grant nothing of the kind know none.
 */
export interface Quota {
  /** Whose it is: the name of the stage. */
  readonly policy: string
  /** What the flow is guaranteed in a window, in units of cost. */
  readonly guarantee: number
  /** Length of the window, in milliseconds; undefined if it is not known. */
  readonly windowMs: number | undefined
  /** The flow's present ceiling: what it has used in this window, and what remains to it. */
  readonly limit: number
  /** A cost up to this was admitted if it had been asked next. */
  readonly remaining: number
  /** Until the window ends, in milliseconds from now on. */
  readonly resetAfterMs: number
}

/** Of a request about which no stage has anything to tell. */
export const NO_QUOTAS: readonly Quota[] = Object.freeze([])
