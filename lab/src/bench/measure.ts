import { getHeapStatistics } from 'node:v8'
import { measure } from 'mitata'

/** What one call costs. */
export interface Cost {
  /** Median, in nanoseconds. */
  ns: number
  p99: number
  /** Allocated on the heap, per call, in bytes. */
  bytes: number
}

const CALLS_BETWEEN_COLLECTIONS = 20_000

/** Measures `work` on `names`, one after the other and around again, after it has seen each of them once. */
export async function costOf(work: (flow: string) => unknown, names: readonly string[]): Promise<Cost> {
  let at = 0
  const step = (): unknown => {
    at = at + 1 === names.length ? 0 : at + 1
    return work(names[at]!)
  }
  for (let i = 0; i < Math.max(names.length, 50_000); i++) step()
  const { p50, p99 } = await measure(step, { min_cpu_time: 400e6 })
  return { ns: p50, p99, bytes: bytesPer(step) }
}

/** The least of several runs, each too short for the collector to step in (it is given a large young space). */
function bytesPer(step: () => unknown): number {
  const runs = Array.from({ length: 7 }, () => {
    globalThis.gc?.()
    const before = getHeapStatistics().used_heap_size
    for (let i = 0; i < CALLS_BETWEEN_COLLECTIONS; i++) step()
    return (getHeapStatistics().used_heap_size - before) / CALLS_BETWEEN_COLLECTIONS
  })
  return Math.max(0, Math.min(...runs))
}
