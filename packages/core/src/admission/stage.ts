import type { After, Clock } from '../clock.js'
import { fail } from '../options.js'
import type { Random } from '../random.js'
import type { Quota } from './decision.js'
import type { Outcome } from './outcome.js'
import type { Refusal } from './refusal.js'

/** A stage's view of a request. One object per request: stages read it, and may leave a hint for later ones. */
export interface Passage {
  /**
   * The unit of fairness: a tenant, an API key, an address. Never empty, at most 256 UTF-16 units. Of a path, its first
   * name: stages without levels are fair between these.
   */
  readonly flow: string
  /**
   * All names of a path, from the first level on: two to four, each like a flow. Undefined for a flow without a path.
   */
  readonly path?: readonly string[] | undefined
  /** Expected cost of the request, in the units of the service; above 0. */
  readonly cost: number
  /** The resource that the request will use, if it was named. Never empty, at most 256 UTF-16 units. */
  readonly resource: string | undefined
  /** From -2 (refused first) to 2 (refused last); 0 is ordinary. */
  readonly priority: number
  /** True for requests that must never be refused for load (health checks). They still count. */
  readonly exempt: boolean
  /** The gate's clock at the decision, in milliseconds: one reading shared by all stages. */
  readonly nowMs: number
  /**
   * Fires when the client is gone. A stage that waits must then give up the place immediately. A stage that does not
   * wait should not read it, because the first reading may create it.
   */
  readonly signal: AbortSignal | undefined
  /** The arguments of the framework's handler, if an adapter asked: for functions in the options of stages. */
  readonly target?: readonly unknown[] | undefined
  /** A hint from FAIR to later stages: the flow's credit, in ordinary requests. Absent if no stage knows it. */
  credit: number | undefined
  /** @internal Computes the credit at the first reading, because that takes time and is rarely needed. */
  lender?: Lender | undefined
}

/** Computes the credit that a flow had. */
export interface Lender {
  readonly lent: number | undefined
}

/**
 * Whether others wait for the capacity that a request holds: no; yes; or yes, and its flow holds more than its fair
 * share.
 */
export type Contest = 'none' | 'others-wait' | 'over-share'

/**
 * A stage's grant to an admitted request. The gate reports the end of the request by one call of `finish` or `undo`.
 * One shared object may serve all requests of a stage that keeps nothing per request.
 */
export interface Hold {
  /**
   * The request ran and ended. If `isNamed`, `cost` is the actual cost, which the caller named by `finish` or by
   * charges. Otherwise it is the cost at admission.
   */
  finish(outcome: Outcome, cost: number, nowMs: number, isNamed?: boolean): void
  /**
   * The request still runs, and has cost `costSoFar` in all, more than at the last call. For stages that charge running
   * requests; it may be called often, and the cost at `finish` is final.
   */
  charge?(costSoFar: number, nowMs: number): void
  /** A later stage refused, or the client left while it waited: takes the grant back; nothing ran. */
  undo(refusal: Refusal, nowMs: number): void
  /**
   * The flow's quota as of the admission, `elapsedMs` ago. For stages that have quotas; undefined once the window is
   * over. Called only if the response reports quotas.
   */
  quota?(elapsedMs: number): Quota | undefined
  /** Whether others wait for the request's grant now. For stages whose grants last while the request runs. */
  contest?(): Contest
}

/**
 * A stage's answer: a {@link Refusal}; or an admission, as a {@link Hold}, or as `undefined` if the stage needs no
 * report of the end.
 */
export type Verdict = Hold | Refusal | undefined

/**
 * One decision in a gate. You can write your own; see `docs/stages.md`.
 *
 * A stage answers synchronously unless it really has to wait or to ask another machine.
 */
export interface Stage {
  /** Appears in decisions, events and snapshots; unique within a gate. */
  readonly name: string
  /** Refuses (returns the result of `refuse()`) or admits (returns a hold, or nothing), now or later. */
  admit(passage: Passage): Verdict | Promise<Verdict>
  /**
   * The gate's answer if `admit` throws, rejects, or outlasts `deadlineMs`: continue without this stage, or refuse.
   * @default 'admit'
   */
  readonly onError?: 'admit' | 'refuse'
  /** Longest time for a promise of `admit`, in milliseconds. Without it the stage must bound its waits itself. */
  readonly deadlineMs?: number
  /**
   * True if the stage settles a promise of `admit` immediately when the request's signal fires or the stage is closed.
   * The gate then does not watch for that itself, which makes waiting cheaper. @default false
   */
  readonly prompt?: boolean
  /** True while there is a shortage and the stage holds flows to their shares. Read after decisions: O(1). */
  readonly engaged?: boolean
  /** Plain JSON for people, metrics and pages. */
  snapshot?(): unknown
  /** The stage's state of a flow, from which it would decide, as plain JSON: see `gate.explain()`. Changes nothing. */
  explain?(flow: string): unknown
  /** Forgets the flow's past, see `gate.resetFlow()`. Running and waiting requests go on. */
  forget?(flow: string): void
  /** Runs overdue timer work, for runtimes whose timers may have died: see `gate.wake()`. */
  wake?(nowMs: number): void
  /** The gate closes: refuses waiting requests, and stops all timers. */
  close?(): void
}

/** The parts of a gate that its mechanisms use. */
export interface GateSeams {
  readonly clock: Clock
  readonly after: After
  /** The gate's option; a mechanism without one takes the platform's. */
  readonly random: Random | undefined
  /** The gate's weights, which never throw; for mechanisms without weights of their own. */
  readonly weightOf: ((flow: string, above?: readonly string[]) => number) | undefined
  /** A name given by a function in a mechanism's options, as short as the gate's flows are. */
  shortened(name: string): string
  /** Tells the gate's observers that a function in a mechanism's options threw, or returned an invalid value. */
  failed(option: string, error: unknown): void
}

/**
 * A mechanism as a value: checked options, with the code that uses them. Each gate makes a stage of its own from it. A
 * bundle contains only the mechanisms that are made.
 */
export interface Mechanism<Place extends keyof typeof MAKERS = keyof typeof MAKERS> {
  /** The option of `createGate` that takes it. */
  readonly place: Place
  /** Makes the stage. Throws a `RangeError` or `TypeError` that names the option and its value. */
  stage(seams: GateSeams): Stage
}

/** The function that makes a mechanism, for each option; used in messages. */
const MAKERS = {
  shed: 'loadShedder',
  quota: 'quota',
  budget: 'escrow',
  doorman: 'lease',
  queue: 'requestQueue',
} as const

/** The stage of the mechanism given as the option `place`. Throws a `TypeError` on anything else. */
export function stageOf(place: Mechanism['place'], mechanism: Mechanism, seams: GateSeams): Stage {
  if (mechanism?.place !== place) fail(place, `made by ${MAKERS[place]}()`, mechanism)
  return mechanism.stage(seams)
}
