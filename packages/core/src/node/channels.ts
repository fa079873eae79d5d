import type { Channel, TracingChannel } from 'node:diagnostics_channel'
import type { Decision } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Stage } from '../admission/stage.js'
import { heard } from '../rejection.js'

/** Published to `fairlead.refused`: a gate has refused a request. */
export interface RefusedMessage {
  readonly gate: Gate
  readonly flow: string
  readonly cost: number
  readonly refusal: Refusal
}

/** Published to `fairlead.finished`: an admitted request has ended. */
export interface FinishedMessage {
  readonly gate: Gate
  readonly flow: string
  /** The actual cost if it was settled, else the cost at admission. */
  readonly cost: number
  readonly outcome: Outcome
  /** From admission to the end, in milliseconds. */
  readonly durationMs: number
}

/** Published to `fairlead.engaged`: FAIR has begun or stopped holding flows to their shares. */
export interface EngagedMessage {
  readonly gate: Gate
  readonly engaged: boolean
}

/**
 * The context of `tracingChannel('fairlead:admit')`: one admission that waits, from the beginning of the wait to the
 * decision.
 */
export interface AdmitContext {
  readonly gate: Gate
  readonly flow: string
  readonly cost: number
  /** Set from `asyncStart` on: the permit, which has `waitedMs`, or the refusal. A refusal is no `error`. */
  readonly result?: Decision
}

// Not imported: a bundle for several runtimes may run on one without this module.
const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')

const refused: Channel | undefined = diagnostics?.channel?.('fairlead.refused')
const finished: Channel | undefined = diagnostics?.channel?.('fairlead.finished')
const engaged: Channel | undefined = diagnostics?.channel?.('fairlead.engaged')
const waits: TracingChannel<unknown, AdmitContext> | undefined = diagnostics?.tracingChannel?.('fairlead:admit')

/** The last state of each gate that was published. */
const told = new WeakMap<Gate, boolean>()

/** Publishes a refusal. */
export function tellRefused(gate: Gate, flow: string, cost: number, refusal: Refusal): void {
  if (refused?.hasSubscribers === true) refused.publish({ gate, flow, cost, refusal })
}

/** Publishes the end of an admitted request. */
export function tellFinished(gate: Gate, flow: string, cost: number, outcome: Outcome, durationMs: number): void {
  if (finished?.hasSubscribers === true) finished.publish({ gate, flow, cost, outcome, durationMs })
}

/** Publishes a change of the engaged state, if any. Called after each decision and each end. */
export function tellEngaged(gate: Gate, stages: readonly Stage[]): void {
  if (engaged?.hasSubscribers !== true) return
  const isEngaged = stages.some((stage) => heard(stage.engaged) === true)
  if (isEngaged === (told.get(gate) ?? false)) return
  told.set(gate, isEngaged)
  engaged.publish({ gate, engaged: isEngaged })
}

/** Traces an admission that waits for its decision. */
export function tellWaiting(decision: Promise<Decision>, context: AdmitContext): void {
  // Bun does not report whether there are subscribers.
  if (waits !== undefined && waits.hasSubscribers !== false) waits.tracePromise(() => decision, context)
}
