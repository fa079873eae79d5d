import type { LoadSignal } from '../shed/signal.js'
import { eventLoopDelaySignal } from './event-loop.js'
import { memorySignal } from './memory.js'

export { type EventLoopDelayOptions, eventLoopDelaySignal } from './event-loop.js'
export { eventLoopUtilizationSignal } from './event-loop-utilization.js'
export { type Heap, type HeapSignalOptions, heapSignal } from './heap.js'
export type { Machine } from './machine.js'
export { type MemorySignalOptions, memorySignal } from './memory.js'
export { type EndListener, onResponseEnd } from './response-end.js'

/** What a server on Node sheds by when nobody says otherwise: memory and event-loop delay. Fresh ones at each call. */
export function defaultSignals(): LoadSignal[] {
  return [memorySignal(), eventLoopDelaySignal()]
}
