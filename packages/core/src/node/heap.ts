import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'

/** Without a decision for this long, the next major collection ends the watching, in milliseconds. */
const IDLE_MS = 60_000

/** What a heap signal needs to know of the engine. */
export interface Heap {
  /** Bytes in use, garbage included, and the most there may be. */
  statistics(): { used_heap_size: number; heap_size_limit: number }
  /** Calls `ended` after each major collection, until what it returns is called. Must not keep a process alive. */
  watch(ended: () => void): () => void
}

/** Options of {@link heapSignal}. */
export interface HeapSignalOptions {
  /** Chance of refusal by share of the heap limit that is live. @default logistic({ from: 0.75, to: 0.95 }) */
  curve?: Curve
  /** The engine. @default V8, as Node shows it */
  heap?: Heap
}

/**
 * Share of the V8 heap limit that is live, from 0 to 1.
 *
 * Heap used is the wrong number to shed by: most of it may be garbage, and shedding on garbage stops the allocations
 * that would have it collected. So the reading that counts is the one taken when a major collection ends. Between
 * collections what was admitted is added, and what is in use in all, garbage included, bounds it from above.
 *
 * Watches collections from the first decision on, and stops when idle. A reading costs about 1 µs.
 */
export function heapSignal(options: HeapSignalOptions = {}): LoadSignal {
  requireOptions('heapSignal', options, ['curve', 'heap'])
  return new HeapSignal(options.curve ?? logistic({ from: 0.75, to: 0.95 }), options.heap ?? v8Heap)
}

class HeapSignal implements LoadSignal {
  readonly name = 'heap'
  /** Readings are shares: at 1 nothing is left. */
  readonly limit = 1
  readonly curve: Curve

  readonly #heap: Heap
  #host: SignalHost | undefined
  #unwatch: (() => void) | undefined
  #readAtMs = 0

  constructor(curve: Curve, heap: Heap) {
    this.curve = curve
    this.#heap = heap
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('a heapSignal serves one shedder; make one for each')
    this.#host = host
  }

  read(nowMs: number): number {
    this.#readAtMs = nowMs
    this.#unwatch ??= this.#heap.watch(() => this.#collected())
    return this.#share()
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#host = undefined
  }

  #collected(): void {
    this.#host?.push(this.#share())
    if (this.#host !== undefined && this.#host.clock() - this.#readAtMs <= IDLE_MS) return
    // What was live then stands when decisions come again: garbage alone must not refuse the requests whose
    // allocations bring the next collection.
    this.#unwatch?.()
    this.#unwatch = undefined
  }

  #share(): number {
    const { used_heap_size: used, heap_size_limit: limit } = this.#heap.statistics()
    return used / limit
  }
}

/** Node calls the observer within half a millisecond of the collection. */
const v8Heap: Heap = {
  statistics: getHeapStatistics,
  watch(ended: () => void): () => void {
    const observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) ended()
    })
    observer.observe({ entryTypes: ['gc'] })
    return () => observer.disconnect()
  },
}

function isMajor(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined
  return (
    typeof detail === 'object' &&
    detail !== null &&
    'kind' in detail &&
    detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
  )
}
