import { requireAbove, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import { Collections, Garbage, LoopTurn } from './collections.js'
import { type LimitedGroup, limitedGroups, type Machine, thisMachine } from './machine.js'

/** Time between two look-ups of limits, in milliseconds: limits of running containers can change. */
const LIMITS_STAND_MS = 10_000

/** Options of {@link memorySignal}. */
export interface MemorySignalOptions {
  /** Chance of refusal by share of the limit in use. @default logistic({ from: 0.75, to: 0.95 }) */
  curve?: Curve
  /** Limit for the resident set of this process, in place of the container's or the machine's memory. */
  limitBytes?: number
  /** Source of the numbers. @default this machine */
  machine?: Machine
}

/**
 * Share of the memory limit in use, from 0 to 1, as the kernel sees it.
 *
 * The limit is that of the container (cgroup v2 or v1, the fullest of the groups above), else that of the runtime, else
 * the machine's memory. Inactive file cache does not count. A reading costs one small file read, or two for each
 * limited group; limits are looked up every ten seconds.
 */
export function memorySignal(options: MemorySignalOptions = {}): LoadSignal {
  requireOptions('memorySignal', options, ['curve', 'limitBytes', 'machine'])
  const { limitBytes, machine = thisMachine } = options
  if (limitBytes !== undefined) requireAbove('limitBytes', limitBytes, 0)
  return new MemorySignal(options.curve ?? logistic({ from: 0.75, to: 0.95 }), limitBytes, machine)
}

class MemorySignal implements LoadSignal {
  readonly name = 'memory'
  /** Readings are shares: 1 is the whole limit. */
  readonly limit = 1
  readonly standsUntilMs = Number.POSITIVE_INFINITY
  /** Freed memory may stay with the allocator, and in the resident set. */
  readonly relief = true
  readonly curve: Curve
  problem: string | undefined

  readonly #limitBytes: number | undefined
  readonly #machine: Machine
  readonly #garbage: Garbage
  readonly #allocator: Allocator = new Allocator()
  readonly #collections: Collections
  readonly #turn: LoopTurn
  #host: SignalHost | undefined
  #physicalBytes = 0
  #groups: LimitedGroup[] = []
  /** The runtime's limit; 0 if it has none. */
  #constrainedBytes = 0
  #foundAtMs: number = Number.NEGATIVE_INFINITY

  constructor(curve: Curve, limitBytes: number | undefined, machine: Machine) {
    this.curve = curve
    this.#limitBytes = limitBytes
    this.#machine = machine
    this.#garbage = new Garbage(() => machine.collect())
    this.#turn = new LoopTurn(machine.afterTurn)
    this.#collections = new Collections(machine.watch, () => this.#collected())
  }

  get due(): boolean {
    return this.#turn.over
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('a memorySignal serves one shedder; make one for each')
    this.#host = host
  }

  close(): void {
    this.#collections.close()
    this.#host = undefined
  }

  read(nowMs: number): number {
    this.#collections.decided(nowMs, this.#host?.clock ?? (() => nowMs))
    this.#turn.begin()
    const { rss, heapTotal, heapUsed, arrayBuffers } = this.#machine.memoryUsage()
    const share = this.#share(nowMs, rss)
    this.#allocator.sample(rss, heapTotal + arrayBuffers)
    const load = this.#allocator.load(share)
    this.#garbage.sample(nowMs, load, load >= COLLECT_FROM * this.curve.from, heapUsed)
    return load
  }

  #collected(): void {
    const host = this.#host
    if (host === undefined) return
    const { rss, heapTotal, arrayBuffers } = this.#machine.memoryUsage()
    const share = this.#share(host.clock(), rss)
    this.#allocator.sample(rss, heapTotal + arrayBuffers)
    host.collected(this.#allocator.load(share))
  }

  /** Share of the limit in use. */
  #share(nowMs: number, rss: number): number {
    // Looking up the limits costs more than the reading itself.
    if (nowMs - this.#foundAtMs >= LIMITS_STAND_MS) this.#findLimits(nowMs)
    if (this.#limitBytes !== undefined) return this.#shareOf(this.#limitBytes, rss)
    if (this.#groups.length > 0) return this.#fullest()
    if (this.#constrainedBytes > 0) return this.#shareOf(this.#constrainedBytes, rss)
    this.#allocator.limitBytes = this.#physicalBytes
    return shareOfMachine(this.#machine.readFile('/proc/meminfo')) ?? this.#shareOf(this.#physicalBytes, rss)
  }

  #findLimits(nowMs: number): void {
    this.#physicalBytes = this.#machine.physicalBytes()
    if (this.#limitBytes === undefined) {
      this.#groups = limitedGroups(this.#machine.readFile, this.#physicalBytes)
      const constrained = this.#machine.constrainedBytes() ?? 0
      // The runtime reports 2^64 if there is no limit.
      this.#constrainedBytes = constrained < this.#physicalBytes ? constrained : 0
    }
    this.#foundAtMs = nowMs
  }

  /** Resident share of `limit`. A limit above the physical memory is reported once and then ignored. */
  #shareOf(limit: number, rss: number): number {
    const physical = this.#physicalBytes
    if (limit > 0 && limit <= physical) {
      this.problem = undefined
      this.#allocator.limitBytes = limit
      return rss / limit
    }
    if (this.problem === undefined) {
      this.problem =
        limit > 0
          ? `the limit of ${limit} bytes is above the physical memory of ${physical} bytes, and is ignored`
          : 'no memory limit was found, and nothing is shed by memory'
      process.emitWarning(`memorySignal: ${this.problem}`, 'FairleadWarning')
    }
    return 0
  }

  /** The largest share of a limit in use, of the groups that can be read; NaN if there is none. */
  #fullest(): number {
    let most = Number.NaN
    for (const group of this.#groups) {
      const share = group.workingSetBytes() / group.limitBytes
      if (share <= most || Number.isNaN(share)) continue
      most = share
      this.#allocator.limitBytes = group.limitBytes
    }
    return most
  }
}

/** Share of the machine's memory that is not available without swapping; undefined if the kernel does not report it. */
function shareOfMachine(meminfo: string | undefined): number | undefined {
  const total = Number(/^MemTotal: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  const available = Number(/^MemAvailable: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  return total > 0 && available >= 0 ? Math.max(0, 1 - available / total) : undefined
}

/** Garbage is collected before requests are refused: from this share of the load at which refusing starts. */
const COLLECT_FROM = 0.8

/** Bytes allocated, as a share of the limit, after which the weight of an older proof has fallen to a third. */
const PROOF_FADES = 0.1
/** Largest share of the limit in use up to which the reuse of kept memory is trusted. */
const HIGHEST = 0.98
/** Upper bound of the share of kept memory that is trusted to be reused. */
const MOST_REUSED = 0.9
/**
 * Bytes of kept memory that stop counting as reusable for each byte by which the process exceeds its earlier maximum.
 */
const RETREAT = 4
/**
 * Part of the distance by which the base falls at each sample: memory that is allocated but not yet touched is not
 * resident either.
 */
const SETTLE = 0.1

/**
 * Estimates the part of a process's resident memory that it could reuse without growing.
 *
 * Freed memory may stay resident with the allocator for ever. It is no shortage as far as new allocations reuse it. The
 * reused share is measured: the part of newly used memory that did not make the resident set grow. It is 0 until
 * measured.
 */
class Allocator {
  /** Bytes that were freed but are still resident; at least 0. */
  kept = 0
  /** Share of newly allocated memory that reuses freed memory, from 0 to 1; measured while some is kept. */
  reused = 0

  /** Memory limit of the process, in bytes. */
  limitBytes: number = Number.POSITIVE_INFINITY

  #resident: number = Number.NaN
  #inUse = 0
  /** Bytes that are resident, not in use, and not reusable: the program itself, and fragmentation. */
  #base = 0
  #peak: number = Number.NEGATIVE_INFINITY

  /** Takes the resident bytes, and the bytes that the engine has in use for objects and buffers. */
  sample(resident: number, inUse: number): void {
    const allocated = inUse - this.#inUse
    const grown = resident - this.#resident
    const peak = this.#peak
    this.#resident = resident
    this.#inUse = inUse
    const slack = resident - inUse
    this.#peak = Math.max(this.#peak, resident)
    if (Number.isNaN(grown)) {
      this.#base = slack
      return
    }
    const above = resident - peak
    if (slack < this.#base) this.#base += SETTLE * (slack - this.#base)
    else if (above > 0) this.#base = Math.min(slack, this.#base + RETREAT * above)
    if (allocated > 0 && this.kept > 0) {
      const proof = Math.min(MOST_REUSED, 1 - Math.max(0, grown) / allocated)
      this.reused += (Math.max(0, proof) - this.reused) * -Math.expm1(-allocated / (PROOF_FADES * this.limitBytes))
    }
    // Growth of the resident set without growth in use does not belong to the allocator.
    const kept = this.kept + Math.min(grown - allocated, Math.max(0, -allocated))
    this.kept = Math.max(0, Math.min(kept, slack - this.#base))
  }

  /**
   * `share` of the limit in use, less the reusable part. Of each byte allocated, 1 - `reused` is new: so for any amount
   * kept, the rest of the limit suffices for (1 - share) / (1 - reused).
   */
  load(share: number): number {
    const left = 1 - share / HIGHEST
    if (left <= 0) return share
    return Math.min(share, Math.max(share - (this.reused * this.kept) / this.limitBytes, 1 - left / (1 - this.reused)))
  }
}
