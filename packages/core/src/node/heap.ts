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
  Turn,
  type WatchCollections,
  watchCollections,
} from './collections.js'

/**
 * V8 ends a process for two reasons. The pages of its old generation are more than it may have, as objects may leave
 * much of a page unused (three of 64 KB fit into one of 256); or objects fill this share of it, and four collections
 * in a row freed little and took most of the time ("ineffective mark-compacts").
 */
const MOST_OBJECTS = 0.8

/** What a heap signal needs to know of the engine. */
export interface Heap {
  /** Bytes of objects, garbage included. */
  usedBytes(): number
  /** Bytes of pages that the old generation has or is about to need: objects, and what is left between them. */
  pageBytes(): number
  /** Bytes of pages that the old generation may have. */
  limitBytes(): number
  /** Asks for a major collection soon. */
  collect(): void
  /** Calls `ended` after each major collection, until what it returns is called. Must not keep a process alive. */
  watch: WatchCollections
  /** Calls back when the event loop has turned. Must not keep a process alive. @default at once */
  afterTurn?: AfterTurn
}

/** Options of {@link heapSignal}. */
export interface HeapSignalOptions {
  /** Chance of refusal by share of the heap limit that is live. @default logistic({ from: 0.75, to: 0.95 }) */
  curve?: Curve
  /** What V8 may use, where flags do not say: the most its old generation may hold. */
  limitBytes?: number
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
  requireOptions('heapSignal', options, ['curve', 'limitBytes', 'heap'])
  const { curve = logistic({ from: 0.75, to: 0.95 }), limitBytes, heap = v8Heap } = options
  if (limitBytes !== undefined) requireAbove('limitBytes', limitBytes, 0)
  return new HeapSignal(curve, limitBytes, heap)
}

class HeapSignal implements LoadSignal {
  readonly name = 'heap'
  /** Readings are shares: at 1 nothing is left. */
  readonly limit = 1
  /** What the service keeps for itself cannot be had by refusing requests. */
  readonly relief = true
  readonly curve: Curve

  readonly #heap: Heap
  readonly #collections: Collections
  readonly #garbage: Garbage
  readonly #turn: Turn
  #host: SignalHost | undefined
  #limitBytes: number | undefined

  constructor(curve: Curve, limitBytes: number | undefined, heap: Heap) {
    this.curve = curve
    this.#limitBytes = limitBytes
    this.#heap = heap
    this.#garbage = new Garbage(() => heap.collect())
    this.#turn = new Turn(heap.afterTurn)
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
    // What is live in the young generation when it is collected moves to the old one.
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
/** Parts that the young generation is made of: two semi-spaces, and as much again for large objects. */
const SEMI_SPACES = 3
/** V8 makes a semi-space at most a 32nd of the old generation, unless a flag says otherwise. */
const LEAST_OLD_SHARE = 32 / (32 + SEMI_SPACES)

/** How this thread's heap was set up, as far as one can ask. */
export interface HeapSetup {
  /** What V8 reports as `heap_size_limit`: old and young generation together. */
  heapSizeLimit: number
  /** Flags, the later ones count: those of the environment, then those of the command line. */
  flags: readonly string[]
  /** What a worker thread was given, in MiB. */
  oldGenerationMb?: number | undefined
  /** What the container, or else the machine, has, in bytes: what a percentage is of. */
  memoryBytes: number
}

/**
 * Most bytes that the old generation may hold.
 *
 * `heap_size_limit` is more than that. It counts the young generation, whose survivors have to move to the old one
 * however empty it is: 3 to 192 MiB, by V8's version and the memory of the container. V8 does not say how much, but
 * flags do, and in worker threads their limits. Where nobody does, the least that is left by the largest.
 */
export function oldGenerationBytes({ heapSizeLimit, flags, oldGenerationMb, memoryBytes }: HeapSetup): number {
  const semiSpaceMb = flagOf(flags, 'max-semi-space-size')
  const youngMb = semiSpaceMb && SEMI_SPACES * 2 ** Math.ceil(Math.log2(semiSpaceMb))
  const percentage = flagOf(flags, 'max-old-space-size-percentage')
  // A flag beats what a worker was given, and a size beats a percentage.
  const oldMb =
    flagOf(flags, 'max-old-space-size') ?? (percentage && ((percentage / 100) * memoryBytes) / MIB) ?? oldGenerationMb
  // A flag that V8 did not follow, because another or a later call overrode it, says nothing.
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

/** The last value given to a flag of V8, which takes dashes for underscores; undefined where there is none above 0. */
function flagOf(flags: readonly string[], name: string): number | undefined {
  const pattern = new RegExp(`^--${name.replaceAll('-', '[-_]')}=([\\d.]+)$`)
  const values = flags.map((flag) => Number(pattern.exec(flag)?.[1])).filter((value) => value > 0)
  return values.at(-1)
}
