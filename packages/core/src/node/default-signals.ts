import type { Mechanism } from '../admission/mechanism.js'
import { logistic } from '../shed/curve.js'
import { loadShedder } from '../shed/shedder.js'
import type { LoadSignal } from '../shed/signal.js'
import { eventLoopDelaySignal } from './event-loop.js'
import { heapSignal } from './heap.js'
import { memorySignal } from './memory.js'

/** Where a queue bounds what runs, the event loop is late by what it lets run at once: that is no emergency yet. */
const BEHIND_A_QUEUE = { from: 100, to: 500 }

/**
 * What a server on Node sheds by when nobody says otherwise: memory, V8's heap and event-loop delay. Fresh ones at each call.
 * `queued`: requests wait in a queue for capacity, which keeps the loop in bounds by itself where handlers wait for
 * something; shedding is then left for handlers that only compute, from 100 ms on.
 */
export function defaultSignals(queued = false): LoadSignal[] {
  const delay = eventLoopDelaySignal(queued ? { curve: logistic(BEHIND_A_QUEUE) } : {})
  // Bun has the functions of V8's heap, but another engine, whose heap has no limit of its own.
  const hasV8 = process.versions['bun'] === undefined
  return hasV8 ? [memorySignal(), heapSignal(), delay] : [memorySignal(), delay]
}

/** The load shedding of adapters on Node: by {@link defaultSignals}. */
export function defaultShed(queued = false): Mechanism<'shed'> {
  return loadShedder({ signals: defaultSignals(queued) })
}
