import { totalmem } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { resourceLimits } from 'node:worker_threads'
import { requireAbove, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import {
  type AfterTurn,
  afterTurn,
  Collections,
  collectSoon,
  Garbage,
  LoopTurn,
  type WatchCollections,
  watchCollections,
} from './collections.js'

/**
 * V8 ends a process in two cases. The pages of its old generation exceed its limit, which may happen while much of each
 * page is unused (three objects of 64 KB fit into a page of 256). Or objects fill this share of the limit, and four
 * collections in a row freed little and took most of the time ("ineffective mark-compacts").
 */
const MOST_OBJECTS = 0.8

/** The engine's heap, as a heap signal reads it. */
export interface Heap {
  /** Bytes of objects, garbage included. */
  usedBytes(): number
  /** Bytes of pages that the old generation has or is about to need: objects, and the gaps between them. */
  pageBytes(): number
  /** Limit on the pages of the old generation, in bytes. */
  limitBytes(): number
  /** Asks for a major collection soon. */
  collect(): void
  /**
   * Calls `ended` after each major collection, until the returned function is called. Must not keep a process alive.
   */
  watch: WatchCollections
  /** Calls back when the event loop has turned. Must not keep a process alive. @default calls back immediately */
  afterTurn?: AfterTurn
}

/** Options of {@link heapSignal}. */
export interface HeapSignalOptions {
  /** Chance of refusal by share of the heap limit that is live. @default logistic({ from: 0.75, to: 0.95 }) */
  curve?: Curve
  /** The limit on V8's old generation, in bytes, if no flag sets it. */
  limitBytes?: number
  /** The engine. @default V8, as Node reports it */
  heap?: Heap
}

/**
 * Share of the V8 heap limit that is live, from 0 to 1.
 *
 * The heap in use is the wrong number for shedding: most of it may be garbage, and shedding on garbage stops the
 * allocations that would trigger its collection. So the reading that counts is the one taken when a major collection
 * ends. Between collections, requests admitted since then are added, and the heap in use, garbage included, is the
 * upper bound.
 *
 * Observes collections from the first decision on, and stops when idle. A reading costs about 1 µs.
 */
export function heapSignal(options: HeapSignalOptions = {}): LoadSignal {
  requireOptions('heapSignal', options, ['curve', 'limitBytes', 'heap'])
  const { curve = logistic({ from: 0.75, to: 0.95 }), limitBytes, heap = v8Heap } = options
  if (limitBytes !== undefined) requireAbove('limitBytes', limitBytes, 0)
  return new HeapSignal(curve, limitBytes, heap)
}

class HeapSignal implements LoadSignal {
  readonly name = 'heap'
  /** Readings are shares: 1 is the whole limit. */
  readonly limit = 1
  /** Refusing requests does not free the service's own memory. */
  readonly relief = true
  readonly standsUntilMs = Number.POSITIVE_INFINITY
  readonly curve: Curve

  readonly #heap: Heap
  readonly #collections: Collections
  readonly #garbage: Garbage
  readonly #turn: LoopTurn
  #host: SignalHost | undefined
  #limitBytes: number | undefined

  constructor(curve: Curve, limitBytes: number | undefined, heap: Heap) {
    this.curve = curve
    this.#limitBytes = limitBytes
    this.#heap = heap
    this.#garbage = new Garbage(() => heap.collect())
    this.#turn = new LoopTurn(heap.afterTurn)
    this.#collections = new Collections(heap.watch, () => this.#host?.push(this.#share()))
  }

  get due(): boolean {
    return this.#turn.over
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('a heapSignal serves one shedder; make one for each')
    this.#host = host
  }

  read(nowMs: number): number {
    this.#collections.decided(nowMs, this.#host?.clock ?? (() => nowMs))
    this.#turn.begin()
    const share = this.#share()
    this.#garbage.sample(nowMs, share, share >= this.curve.from, this.#heap.usedBytes())
    return share
  }

  close(): void {
    this.#collections.close()
    this.#host = undefined
  }

  #share(): number {
    this.#limitBytes ??= this.#heap.limitBytes()
    const objects = this.#heap.usedBytes() / (MOST_OBJECTS * this.#limitBytes)
    return Math.max(objects, this.#heap.pageBytes() / this.#limitBytes)
  }
}

const v8Heap: Heap = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  pageBytes(): number {
    let bytes = 0
    // Live objects of the young generation move to the old one when it is collected.
    for (const { space_name, space_size, space_used_size } of getHeapSpaceStatistics())
      bytes += space_name.startsWith('new_') ? space_used_size : space_size
    return bytes
  },
  limitBytes: () => oldGenerationBytes(heapSetup(getHeapStatistics().heap_size_limit)),
  collect: collectSoon,
  watch: watchCollections,
  afterTurn,
}

const MIB = 2 ** 20
/** Parts of the young generation: two semi-spaces, and as much again for large objects. */
const SEMI_SPACES = 3
/** V8 makes a semi-space at most a 32nd of the old generation, unless a flag says otherwise. */
const LEAST_OLD_SHARE = 32 / (32 + SEMI_SPACES)

/** The configuration of this thread's heap, as far as it can be queried. */
export interface HeapSetup {
  /** V8's `heap_size_limit`: old and young generation together. */
  heapSizeLimit: number
  /** Flags: those of the environment, then those of the command line. The last one counts. */
  flags: readonly string[]
  /** The worker thread's limit, in MiB. */
  oldGenerationMb?: number | undefined
  /** Memory of the container, or else of the machine, in bytes: the base of percentages. */
  memoryBytes: number
}

/**
 * Limit on the old generation, in bytes.
 *
 * `heap_size_limit` is larger. It includes the young generation, whose survivors must move to the old one even when it
 * is empty: 3 to 192 MiB, depending on V8's version and the memory of the container. V8 does not report that size, but
 * flags do, and the limits of worker threads. Without either, the largest young generation is subtracted.
 */
export function oldGenerationBytes({ heapSizeLimit, flags, oldGenerationMb, memoryBytes }: HeapSetup): number {
  const semiSpaceMb = flagOf(flags, 'max-semi-space-size')
  const youngMb = semiSpaceMb && SEMI_SPACES * 2 ** Math.ceil(Math.log2(semiSpaceMb))
  const percentage = flagOf(flags, 'max-old-space-size-percentage')
  // A flag overrides a worker's limit, and a size overrides a percentage.
  const oldMb =
    flagOf(flags, 'max-old-space-size') ?? (percentage && ((percentage / 100) * memoryBytes) / MIB) ?? oldGenerationMb
  // A flag that V8 did not follow, because another or a later call overrode it, is ignored.
  for (const bytes of [oldMb && oldMb * MIB, youngMb && heapSizeLimit - youngMb * MIB])
    if (bytes !== undefined && bytes > 0 && bytes <= heapSizeLimit) return bytes
  return heapSizeLimit * LEAST_OLD_SHARE
}

/** The setup of the calling thread, whose `heap_size_limit` is given. */
function heapSetup(heapSizeLimit: number): HeapSetup {
  const environment = process.env['NODE_OPTIONS']?.split(/[\s"]+/) ?? []
  return {
    heapSizeLimit,
    flags: [...environment, ...process.execArgv],
    oldGenerationMb: resourceLimits.maxOldGenerationSizeMb,
    memoryBytes: Math.min(totalmem(), process.constrainedMemory?.() || Number.POSITIVE_INFINITY),
  }
}

/** The last value given to a flag of V8, with dashes or underscores; undefined without a value above 0. */
function flagOf(flags: readonly string[], name: string): number | undefined {
  const pattern = new RegExp(`^--${name.replaceAll('-', '[-_]')}=([\\d.]+)$`)
  const values = flags.map((flag) => Number(pattern.exec(flag)?.[1])).filter((value) => value > 0)
  return values.at(-1)
}
