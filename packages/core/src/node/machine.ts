import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { type AfterTurn, afterTurn, collectSoon, type WatchCollections, watchCollections } from './collections.js'

/** Bytes, as `process.memoryUsage()` gives them. */
export interface MemoryUsage {
  rss: number
  heapTotal: number
  heapUsed: number
  arrayBuffers: number
}

/** Where a memory signal gets its numbers: this machine, or a recorded one. */
export interface Machine {
  readFile: ReadFile
  /** Physical memory. */
  physicalBytes(): number
  /** The runtime's own idea of a limit. Absurdly large, 0 or undefined where there is none. */
  constrainedBytes(): number | undefined
  /** Resident set of this process, and what its engine has in use of it. */
  memoryUsage(): MemoryUsage
  /** Asks the engine to collect garbage soon. Makes nothing resident. */
  collect(): void
  /** Calls `ended` after each major collection, until what it returns is called. Must not keep a process alive. */
  watch: WatchCollections
  /** Calls back when the event loop has turned. Must not keep a process alive. @default at once */
  afterTurn?: AfterTurn
}

/**
 * The machine this process runs on. Files of /proc and /sys are made up by the kernel: reading them waits for nothing.
 */
export const thisMachine: Machine = {
  readFile(path: string): string | undefined {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  },
  physicalBytes: () => totalmem(),
  constrainedBytes: () => process.constrainedMemory?.(),
  memoryUsage: () => process.memoryUsage(),
  collect: collectSoon,
  watch: watchCollections,
  afterTurn,
}

/** Text of a small file, or undefined if it cannot be read. */
export type ReadFile = (path: string) => string | undefined

/** A control group with a memory limit: this process's own or one above it. */
export interface LimitedGroup {
  limitBytes: number
  /** Memory in use by the group, without inactive file cache; NaN if unknown. */
  workingSetBytes(): number
}

/** Where groups are found. */
interface Hierarchy {
  /** Where the controller is mounted. */
  mount: string
  /** Of the line of /proc/self/cgroup that names our group. */
  line: RegExp
}

/** What the two versions of cgroups call things. Version 1 counts the groups below only in `total_…`. */
interface Version extends Hierarchy {
  limits: readonly string[]
  usage: string
  inactiveFile: RegExp
}

const VERSIONS: readonly Version[] = [
  {
    mount: '/sys/fs/cgroup',
    line: /^0::(\/.*)$/m,
    // Above `memory.high` a group is slowed to a crawl: that is already too much.
    limits: ['memory.max', 'memory.high'],
    usage: 'memory.current',
    inactiveFile: /^inactive_file (\d+)$/m,
  },
  {
    mount: '/sys/fs/cgroup/memory',
    line: /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(\/.*)$/m,
    limits: ['memory.limit_in_bytes'],
    usage: 'memory.usage_in_bytes',
    inactiveFile: /^total_inactive_file (\d+)$/m,
  },
]

/** Where the CPU controller is, and how a group without a quota shows it. */
const CPU: readonly (Hierarchy & { quota: string; none: RegExp })[] = [
  { mount: '/sys/fs/cgroup', line: /^0::(\/.*)$/m, quota: 'cpu.max', none: /^max/ },
  {
    mount: '/sys/fs/cgroup/cpu',
    line: /^\d+:(?:[^:\n]*,)?cpu(?:,[^:\n]*)?:(\/.*)$/m,
    quota: 'cpu.cfs_quota_us',
    none: /^-/,
  },
]

/**
 * Files that count how long a CPU quota has held this process up: one for each group with a quota, its own and those
 * above that can be seen.
 */
function quotaStatistics(read: ReadFile): string[] {
  const membership = read('/proc/self/cgroup') ?? ''
  const files: string[] = []
  for (const { quota, none, ...hierarchy } of CPU) {
    for (const directory of directories(hierarchy, membership)) {
      const text = read(`${directory}/${quota}`)
      if (text !== undefined && !none.test(text)) files.push(`${directory}/cpu.stat`)
    }
  }
  return files
}

/** Milliseconds that a group was held up by its quota, from its `cpu.stat`; 0 if it does not say. */
function throttledMsOf(statistics: string | undefined): number {
  const [, v2, v1] = /^(?:throttled_usec (\d+)|throttled_time (\d+))$/m.exec(statistics ?? '') ?? []
  return v2 === undefined ? Number(v1 ?? 0) / 1e6 : Number(v2) / 1e3
}

/**
 * The limited control groups that this process is in: its own and all above that can be seen, cgroup v2 or v1.
 *
 * Each has its own use, which other processes share: whichever is fullest decides. The word `max`, the huge number by
 * which v1 says "unlimited", and anything else from `physicalBytes` on is no limit. Empty where there is none.
 *
 * @see Linux kernel, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst
 */
export function limitedGroups(read: ReadFile, physicalBytes: number): LimitedGroup[] {
  const groups: LimitedGroup[] = []
  const membership = read('/proc/self/cgroup') ?? ''
  for (const version of VERSIONS) {
    for (const directory of directories(version, membership)) {
      const limits = version.limits.map((file) => bytes(read(`${directory}/${file}`)))
      const limitBytes = Math.min(...limits.filter((limit) => limit > 0 && limit < physicalBytes))
      if (limitBytes === Number.POSITIVE_INFINITY) continue
      groups.push({ limitBytes, workingSetBytes: () => workingSet(read, version, directory) })
    }
  }
  return groups
}

/**
 * Our group and those above it. Inside a container the path may be that of the host, of which only the end is mounted,
 * as the root; then the directories between are missing, and the root is ours.
 */
function directories({ mount, line }: Hierarchy, membership: string): string[] {
  const path = line.exec(membership)?.[1] ?? '/'
  const names = path.split('/').filter((name) => name !== '')
  // A group outside of what our namespace shows: `/../other`.
  if (names.includes('..')) return [mount]
  return names.map((_, depth) => `${mount}/${names.slice(0, names.length - depth).join('/')}`).concat(mount)
}

function workingSet(read: ReadFile, { usage, inactiveFile }: Version, directory: string): number {
  const used = bytes(read(`${directory}/${usage}`))
  const inactive = inactiveFile.exec(read(`${directory}/memory.stat`) ?? '')?.[1]
  // Without the statistics the cache counts as used: too careful rather than too late.
  return Math.max(0, used - (inactive === undefined ? 0 : Number(inactive)))
}

/** A file that holds one number; NaN for the word `max`, for nonsense, and where there is no such file. */
function bytes(text: string | undefined): number {
  return /^\d+\s*$/.test(text ?? '') ? Number(text) : Number.NaN
}

/**
 * Time that the CPU quotas of this process's containers have held it up in all, in milliseconds; 0 where there is none.
 *
 * Quotas are looked for once. A reading then costs a small file for each, and nothing where there is none.
 */
export function quotaClock(read: ReadFile = thisMachine.readFile): () => number {
  let files: readonly string[] | undefined
  return () => {
    files ??= quotaStatistics(read)
    let sum = 0
    for (const file of files) sum += throttledMsOf(read(file))
    return sum
  }
}
