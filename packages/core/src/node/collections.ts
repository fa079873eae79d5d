import { constants, PerformanceObserver } from 'node:perf_hooks'

/** Without a decision for this long, the next major collection ends the observation, in milliseconds. */
const IDLE_MS = 60_000

/** Calls `ended` after each major collection, until the returned function is called. Must not keep a process alive. */
export type WatchCollections = (ended: () => void) => () => void

/** Node calls the observer within half a millisecond of the collection. Other runtimes report none. */
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

/** Observes major collections from the first decision on, and stops when decisions cease. */
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
      // The last live size still holds when decisions resume: garbage alone must not refuse requests, because their
      // allocations are what triggers the next collection.
      if (clock() - this.#decidedAtMs > IDLE_MS) this.close()
    })
  }

  close(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
  }
}

/** Calls `turned` at the end of the current turn of the event loop. */
export type AfterTurn = (turned: () => void) => void

export const afterTurn: AfterTurn = (turned) => {
  setImmediate(turned).unref()
}

/**
 * Whether the event loop has turned since the last reading. One turn may decide hundreds of requests before the first
 * of them takes any memory. A second reading in the same turn would show none of them, and discard their reserve.
 */
export class LoopTurn {
  over = true
  readonly #after: AfterTurn | undefined
  readonly #ended = (): void => {
    this.over = true
  }

  /** Without `after`, each turn ends immediately. */
  constructor(after: AfterTurn | undefined) {
    this.#after = after
  }

  begin(): void {
    if (this.#after === undefined || !this.over) return
    this.over = false
    this.#after(this.#ended)
  }
}

/** The part of the standard interface used here; Node's types leave it to those of browsers. */
declare const WebAssembly: { Memory: new (descriptor: { initial: number }) => object }

/** V8 starts a collection when 64 MiB of buffers have been allocated since the last one; in pages of 64 KiB. */
const COLLECTING_PAGES = 1_040

/** Makes V8 collect garbage soon. Adds nothing to the resident set. */
export function collectSoon(): void {
  try {
    // Never touched, so the kernel commits no memory, but V8 counts it as external memory.
    new WebAssembly.Memory({ initial: COLLECTING_PAGES })
  } catch {
    // The address space is exhausted.
  }
}

/** Shortest time between two requested collections, in milliseconds. */
const COLLECT_EVERY_MS = 250
/**
 * Time until the next collection after one that freed little, in milliseconds per byte of objects. Marking takes about
 * half a millisecond per megabyte, a twentieth of this.
 */
const COLLECT_SELDOM_MS = 10 / 2 ** 20
/** A collection that frees less than this share of the limit freed little. */
const LITTLE = 0.05

/**
 * Triggers collections while memory is short. Refused requests allocate nothing, so without this, garbage would stay
 * and keep the signal refusing requests.
 */
export class Garbage {
  readonly #collect: () => void
  #nextMs: number = Number.NEGATIVE_INFINITY
  /** Share in use at the last triggered collection, and the least since. */
  #then = 1
  #least = 0

  constructor(collect: () => void) {
    this.#collect = collect
  }

  /** Takes the share of the limit in use, and the bytes of objects that a collection must mark. */
  sample(nowMs: number, share: number, short: boolean, objectBytes: number): void {
    this.#least = Math.min(this.#least, share)
    if (!short || nowMs < this.#nextMs) return
    const freedLittle = this.#then - this.#least < LITTLE
    this.#nextMs = nowMs + Math.max(COLLECT_EVERY_MS, freedLittle ? COLLECT_SELDOM_MS * objectBytes : 0)
    this.#then = share
    this.#least = share
    this.#collect()
  }
}
