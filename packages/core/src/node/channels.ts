import type { Channel, TracingChannel } from 'node:diagnostics_channel'
import type { Decision } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Stage } from '../admission/stage.js'

/** Published to `fairlead.refused`: a gate has refused a request. */
export interface RefusedMessage {
  readonly gate: Gate
  readonly flow: string
  readonly cost: number
  readonly refusal: Refusal
}

/** Published to `fairlead.finished`: a request that was admitted has ended. */
export interface FinishedMessage {
  readonly gate: Gate
  readonly flow: string
  /** What it really cost: as settled, else as admitted. */
  readonly cost: number
  readonly outcome: Outcome
  /** From admission to the end, in milliseconds. */
  readonly durationMs: number
}

/** Published to `fairlead.engaged`: FAIR has begun to hold flows to their shares, or does so no longer. */
export interface EngagedMessage {
  readonly gate: Gate
  readonly engaged: boolean
}

/**
 * The context of `tracingChannel('fairlead:admit')`: one admission that has to wait, from when it does to its decision.
 */
export interface AdmitContext {
  readonly gate: Gate
  readonly flow: string
  readonly cost: number
  /** From `asyncStart` on: the permit, which knows `waitedMs`, or the refusal. A refusal is no `error`. */
  readonly result?: Decision
}

// Not imported: a bundle for several runtimes may meet one that has no such module.
const diagnostics = globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')

const refused: Channel | undefined = diagnostics?.channel?.('fairlead.refused')
const finished: Channel | undefined = diagnostics?.channel?.('fairlead.finished')
const engaged: Channel | undefined = diagnostics?.channel?.('fairlead.engaged')
const waits: TracingChannel<unknown, AdmitContext> | undefined = diagnostics?.tracingChannel?.('fairlead:admit')

/** Whether its shares are held, as the listeners know it. */
const told = new WeakMap<Gate, boolean>()

/** A gate has refused a request. */
export function tellRefused(gate: Gate, flow: string, cost: number, refusal: Refusal): void {
  if (refused?.hasSubscribers === true) refused.publish({ gate, flow, cost, refusal })
}

/** A request that was admitted has ended. */
export function tellFinished(gate: Gate, flow: string, cost: number, outcome: Outcome, durationMs: number): void {
  if (finished?.hasSubscribers === true) finished.publish({ gate, flow, cost, outcome, durationMs })
}

/** Something has been decided, or has ended. Tells only what the listeners have not heard. */
export function tellEngaged(gate: Gate, stages: readonly Stage[]): void {
  if (engaged?.hasSubscribers !== true) return
  const isEngaged = stages.some((stage) => stage.engaged === true)
  if (isEngaged === (told.get(gate) ?? false)) return
  told.set(gate, isEngaged)
  engaged.publish({ gate, engaged: isEngaged })
}

/** An admission waits for its decision. */
export function tellWaiting(decision: Promise<Decision>, context: AdmitContext): void {
  // Bun cannot tell whether there are subscribers.
  if (waits !== undefined && waits.hasSubscribers !== false) waits.tracePromise(() => decision, context)
}
