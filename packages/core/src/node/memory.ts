import { requireAbove, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import { Allocator } from './allocator.js'
import { type LimitedGroup, limitedGroups } from './cgroup.js'
import { Collections } from './collections.js'
import { Garbage } from './garbage.js'
import { type Machine, thisMachine } from './machine.js'

/** How long a limit is taken to stand, in milliseconds: limits of running containers can be changed. */
const LIMITS_STAND_MS = 10_000

/** Options of {@link memorySignal}. */
export interface MemorySignalOptions {
  /** Chance of refusal by share of the limit in use. @default logistic({ from: 0.75, to: 0.95 }) */
  curve?: Curve
  /** What this process may use, compared with its resident set, instead of the container's or the machine's memory. */
  limitBytes?: number
  /** Where the numbers come from. @default this machine */
  machine?: Machine
}

/**
 * Share of the memory limit in use, from 0 to 1, as the kernel sees it.
 *
 * The limit is that of the container (cgroup v2 or v1, whichever group above is fullest), else of the runtime, else the
 * machine's memory. Cached files count only as far as they are in use. A reading costs a small file read, or two
 * for each limited group; the limits are looked for every ten seconds.
 */
export function memorySignal(options: MemorySignalOptions = {}): LoadSignal {
  requireOptions('memorySignal', options, ['curve', 'limitBytes', 'machine'])
  const { limitBytes, machine = thisMachine } = options
  if (limitBytes !== undefined) requireAbove('limitBytes', limitBytes, 0)
  return new MemorySignal(options.curve ?? logistic({ from: 0.75, to: 0.95 }), limitBytes, machine)
}

class MemorySignal implements LoadSignal {
  readonly name = 'memory'
  /** Readings are shares: at 1 nothing is left. */
  readonly limit = 1
  /** What was freed may stay with the allocator, and in the resident set. */
  readonly relief = true
  readonly curve: Curve
  problem: string | undefined

  readonly #limitBytes: number | undefined
  readonly #machine: Machine
  readonly #garbage: Garbage
  readonly #allocator: Allocator = new Allocator()
  readonly #collections: Collections
  #host: SignalHost | undefined
  #physicalBytes = 0
  #groups: LimitedGroup[] = []
  /** The runtime's own limit; 0 where it has none. */
  #constrainedBytes = 0
  #foundAtMs: number = Number.NEGATIVE_INFINITY

  constructor(curve: Curve, limitBytes: number | undefined, machine: Machine) {
    this.curve = curve
    this.#limitBytes = limitBytes
    this.#machine = machine
    this.#garbage = new Garbage(() => machine.collect())
    this.#collections = new Collections(machine.watch, () => this.#collected())
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
    // Asking for the limits costs more than the reading itself.
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
      // The runtime says 2^64 where there is no limit.
      this.#constrainedBytes = constrained < this.#physicalBytes ? constrained : 0
    }
    this.#foundAtMs = nowMs
  }

  /** Share of `limit` that is resident. Says once, and then refuses nobody, if that limit cannot be one. */
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

/** Share of the machine's memory that could not be had without swapping; undefined where the kernel does not say. */
function shareOfMachine(meminfo: string | undefined): number | undefined {
  const total = Number(/^MemTotal: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  const available = Number(/^MemAvailable: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  return total > 0 && available >= 0 ? Math.max(0, 1 - available / total) : undefined
}

/** Garbage is collected before anybody is refused: from this share of where refusing starts. */
const COLLECT_FROM = 0.8
