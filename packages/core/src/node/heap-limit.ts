import { totalmem } from 'node:os'
import { resourceLimits } from 'node:worker_threads'

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
export function heapSetup(heapSizeLimit: number): HeapSetup {
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
