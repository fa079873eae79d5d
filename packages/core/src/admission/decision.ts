import type { Flow } from '../path.js'
import type { Outcome } from './outcome.js'
import type { Refusal } from './refusal.js'
import type { Contest } from './stage.js'

/** A request for admission. */
export interface Ask {
  /**
   * The unit of fairness: any non-empty string; a name of more than 256 UTF-16 units is replaced by its head and a
   * keyed hash. Or a path of up to four names, such as `['account', 'key']`: the queue is fair between accounts, and
   * between the keys of each account; the other stages are fair between accounts.
   */
  flow: Flow
  /** Expected cost, above 0, in units of your choice. @default 1 */
  cost?: number
  /**
   * The resource that the request will use, if it can be exhausted while the rest of the service is not: a backend, a
   * route. FAIR measures up to 32 such resources separately. @default one for all requests that name none
   */
  resource?: string | undefined
  /** A whole number from -2 (refused first) to 2 (refused last). @default 0 */
  priority?: number
  /** Never refused for load, but counted: health checks. @default false */
  exempt?: boolean
  /** The arguments of the framework's handler, for functions in the options of stages: see `quota`. @default none */
  target?: readonly unknown[] | undefined
  /**
   * Fires when the client is gone. If it fires while the request waits, the answer is a refusal with reason `gone`. A
   * function is called once, and only if a stage wants to wait: on Node 20 a signal for every request costs several
   * times as much as the decision. If it throws, or returns anything else, the stage `signal` emits an event `error`,
   * and the request waits without a signal.
   */
  signal?: AbortSignal | (() => AbortSignal) | undefined
}

/** Further arguments of `finish`. */
export interface Settlement {
  /**
   * The actual cost, at least 0.
   * @default the cost at admission or, if the request was charged, the sum of the charges
   */
  cost?: number
}

/** An admission: the request may run, and the caller must report how it ended. */
export interface Permit {
  readonly admitted: true
  /** The flow or, of a path, its first name. */
  readonly flow: string
  /** The whole path, if the flow was one. */
  readonly path: readonly string[] | undefined
  readonly cost: number
  readonly priority: number
  /** Time from the request to its admission, in milliseconds. */
  readonly waitedMs: number
  /** True once `finish` was called. */
  readonly finished: boolean
  /**
   * Adds `delta` to the cost of the running request, for example for tokens as they stream. The sum of the charges
   * begins at 0; when it exceeds the cost at admission, or the cost that the stages reserved, the flow is charged with
   * the excess: its budget, its turns in the queue, FAIR. `finish` settles the cost that it names, otherwise the sum of
   * the charges. After `finish` this does nothing. Throws a `RangeError` or `TypeError` on a bad `delta`. O(stages).
   */
  charge(delta: number): void
  /**
   * Reports how the request ended. Only the first call counts; later calls do nothing.
   * Throws on an unknown outcome (`TypeError`) or a bad cost (`RangeError`); such a call does not count.
   */
  finish(outcome: Outcome, settlement?: Settlement): void
  /**
   * The flow's remaining quota at each stage that has quotas, in the order of the stages, as of the admission, for the
   * rest of their windows. Empty if no stage has any. O(stages).
   */
  quotas(): readonly Quota[]
  /**
   * Whether others wait for the capacity that the request holds: the worst answer of its stages. `none` after `finish`.
   * O(stages).
   */
  contest(): Contest
}

/** Admitted, or refused with the reason and the numbers that decided. */
export type Decision = Permit | Refusal

/**
 * A stage's grant to a flow in a window, and the rest of it, for protocols that report quotas to clients. A stage
 * without windows has none.
 */
export interface Quota {
  /** The name of the stage. */
  readonly policy: string
  /** The flow's guarantee in a window, in units of cost. */
  readonly guarantee: number
  /** Length of the window, in milliseconds; undefined if it is not known. */
  readonly windowMs: number | undefined
  /** The flow's present ceiling: its use in this window plus the rest. */
  readonly limit: number
  /** At least this would have been admitted next. */
  readonly remaining: number
  /** Time until the window ends, in milliseconds from now. */
  readonly resetAfterMs: number
}
