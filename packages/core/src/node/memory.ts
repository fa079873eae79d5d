import { requireAbove, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal } from '../shed/signal.js'
import { type LimitedGroup, limitedGroups } from './cgroup.js'
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
  }

  read(nowMs: number): number {
    const share = this.#share(nowMs)
    this.#garbage.sample(nowMs, share, share >= COLLECT_FROM * this.curve.from)
    return share
  }

  #share(nowMs: number): number {
    // Asking for the limits costs more than the reading itself.
    if (nowMs - this.#foundAtMs >= LIMITS_STAND_MS) this.#findLimits(nowMs)
    if (this.#limitBytes !== undefined) return this.#shareOf(this.#limitBytes)
    if (this.#groups.length > 0) return fullest(this.#groups)
    if (this.#constrainedBytes > 0) return this.#shareOf(this.#constrainedBytes)
    return shareOfMachine(this.#machine.readFile('/proc/meminfo')) ?? this.#shareOf(this.#physicalBytes)
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
  #shareOf(limit: number): number {
    const physical = this.#physicalBytes
    if (limit > 0 && limit <= physical) {
      this.problem = undefined
      return this.#machine.residentBytes() / limit
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
}

/** The largest share of a limit in use, of the groups that can be read; NaN if there is none. */
function fullest(groups: readonly LimitedGroup[]): number {
  let most = Number.NaN
  for (const group of groups) {
    const share = group.workingSetBytes() / group.limitBytes
    if (!(share <= most) && !Number.isNaN(share)) most = share
  }
  return most
}

/** Share of the machine's memory that could not be had without swapping; undefined where the kernel does not say. */
function shareOfMachine(meminfo: string | undefined): number | undefined {
  const total = Number(/^MemTotal: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  const available = Number(/^MemAvailable: +(\d+) kB$/m.exec(meminfo ?? '')?.[1])
  return total > 0 && available >= 0 ? Math.max(0, 1 - available / total) : undefined
}

/** Garbage is collected before anybody is refused: from this share of where refusing starts. */
const COLLECT_FROM = 0.8
