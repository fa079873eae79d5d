import { getHeapStatistics } from 'node:v8'
import { measure } from 'mitata'

/** Cost of one call. */
export interface Cost {
  /** Median, in nanoseconds. */
  ns: number
  p99: number
  /** Allocated on the heap, per call, in bytes. */
  bytes: number
}

const CALLS_BETWEEN_COLLECTIONS = 20_000

/**
 * Measures `work` on `names`, one after the other, repeatedly, after one call for each of them. A returned promise is
 * awaited before the next call.
 */
export async function costOf(work: (flow: string) => unknown, names: readonly string[]): Promise<Cost> {
  let at = 0
  const step = (): unknown => {
    at = at + 1 === names.length ? 0 : at + 1
    return work(names[at]!)
  }
  const run = step() instanceof Promise ? inTurn(step) : atOnce(step)
  await run(Math.max(names.length, 50_000))
  const { p50, p99 } = await measure(step, { min_cpu_time: 400e6 })
  return { ns: p50, p99, bytes: await bytesPer(run, CALLS_BETWEEN_COLLECTIONS) }
}

type Calls = (count: number) => Promise<void>

function atOnce(step: () => unknown): Calls {
  return async (count) => {
    for (let i = 0; i < count; i++) step()
  }
}

function inTurn(step: () => unknown): Calls {
  return async (count) => {
    for (let i = 0; i < count; i++) await step()
  }
}

/**
 * Bytes allocated by each of `count` calls: the least of several runs, each too short for a collection (the young
 * generation is large).
 */
export async function bytesPer(run: Calls, count: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 7; i++) {
    globalThis.gc?.()
    const before = getHeapStatistics().used_heap_size
    await run(count)
    least = Math.min(least, (getHeapStatistics().used_heap_size - before) / count)
  }
  return Math.max(0, least)
}
