import type { Mechanism } from '../admission/stage.js'
import { logistic } from '../shed/curve.js'
import { loadShedder } from '../shed/load-shedder.js'
import type { LoadSignal } from '../shed/signal.js'
import { eventLoopDelaySignal } from './event-loop.js'
import { heapSignal } from './heap.js'
import { memorySignal } from './memory.js'

/** Behind a queue the loop is late by the requests that the queue starts together, which is no emergency yet. */
const BEHIND_A_QUEUE = { from: 100, to: 500 }

/**
 * The signals of the default load shedding on Node: memory, V8's heap and event-loop delay; new ones at each call. With
 * `queued`, requests wait in a queue for capacity, which bounds the loop's delay where handlers mostly wait. Shedding
 * is then for handlers that only compute, and starts at a delay of 100 ms.
 */
export function defaultSignals(queued = false): LoadSignal[] {
  const delay = eventLoopDelaySignal(queued ? { curve: logistic(BEHIND_A_QUEUE) } : {})
  // Bun has the functions for V8's heap, but another engine, whose heap has no limit of its own.
  const hasV8 = process.versions['bun'] === undefined
  return hasV8 ? [memorySignal(), heapSignal(), delay] : [memorySignal(), delay]
}

/** The load shedding of adapters on Node: by {@link defaultSignals}. */
export function defaultShed(queued = false): Mechanism<'shed'> {
  return loadShedder({ signals: defaultSignals(queued) })
}
