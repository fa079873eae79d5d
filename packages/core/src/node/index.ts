/**
 * The parts for Node only: its servers, load signals for shedding, ids for its processes, and the messages that gates
 * publish to its diagnostics channels.
 *
 * @module @fairlead/core/node
 */

export { fairOf } from '../http/context.js'
export type { AdmitContext, EngagedMessage, FinishedMessage, RefusedMessage } from './channels.js'
export { clientId } from './client-id.js'
export { defaultShed, defaultSignals } from './default-signals.js'
export { type EventLoopDelayOptions, eventLoopDelaySignal, eventLoopUtilizationSignal } from './event-loop.js'
export { type FairHandler, fairHandler } from './handler.js'
export { type Heap, type HeapSignalOptions, heapSignal } from './heap.js'
export type { Machine, MemoryUsage } from './machine.js'
export { type MemorySignalOptions, memorySignal } from './memory.js'
