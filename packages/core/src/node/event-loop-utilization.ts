import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal } from '../shed/signal.js'

/**
 * Share of the time that the event loop was busy since the last sample, from 0 to 1. For pages and metrics.
 *
 * Not a good load to shed by: it stops at 1 and cannot say how much is too much, so that half of the capacity is lost.
 */
export function eventLoopUtilizationSignal(curve: Curve = logistic({ from: 0.9, to: 1 })): LoadSignal {
  let last: EventLoopUtilization = performance.eventLoopUtilization()
  return {
    name: 'event-loop-utilization',
    kind: 'sampled',
    curve,
    read(): number {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
  }
}
