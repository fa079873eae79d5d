import { constants, PerformanceObserver } from 'node:perf_hooks'

/** Without a decision for this long, the next major collection ends the watching, in milliseconds. */
const IDLE_MS = 60_000

/** Calls `ended` after each major collection, until what it returns is called. Must not keep a process alive. */
export type WatchCollections = (ended: () => void) => () => void

/** Node calls the observer within half a millisecond of the collection. Other runtimes tell of none. */
export const watchCollections: WatchCollections = (ended) => {
  const kinds: unknown = Reflect.get(PerformanceObserver, 'supportedEntryTypes')
  if (!Array.isArray(kinds) || !kinds.includes('gc')) return () => {}
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isMajor)) ended()
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
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

/** Major collections, watched from the first decision on, and no longer than there are decisions. */
export class Collections {
  readonly #watch: WatchCollections
  readonly #ended: () => void
  #unwatch: (() => void) | undefined
  #decidedAtMs = 0

  constructor(watch: WatchCollections, ended: () => void) {
    this.#watch = watch
    this.#ended = ended
  }

  /** A decision at `nowMs`, by `clock`. */
  decided(nowMs: number, clock: () => number): void {
    this.#decidedAtMs = nowMs
    this.#unwatch ??= this.#watch(() => {
      this.#ended()
      // What was live then stands when decisions come again: garbage alone must not refuse the requests whose
      // allocations bring the next collection.
      if (clock() - this.#decidedAtMs > IDLE_MS) this.close()
    })
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
  }
}
