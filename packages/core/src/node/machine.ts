import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { type AfterTurn, afterTurn, collectSoon, type WatchCollections, watchCollections } from './collections.js'

/** Bytes, as `process.memoryUsage()` reports them. */
export interface MemoryUsage {
  rss: number
  heapTotal: number
  heapUsed: number
  arrayBuffers: number
}

/** The source of a memory signal's numbers: this machine, or a recorded one. */
export interface Machine {
  readFile: ReadFile
  /** Physical memory. */
  physicalBytes(): number
  /** The runtime's limit. Absurdly large, 0 or undefined if there is none. */
  constrainedBytes(): number | undefined
  /** Resident set of this process, and the part that its engine has in use. */
  memoryUsage(): MemoryUsage
  /** Asks the engine to collect garbage soon. Adds nothing to the resident set. */
  collect(): void
  /**
   * Calls `ended` after each major collection, until the returned function is called. Must not keep a process alive.
   */
  watch: WatchCollections
  /** Calls back when the event loop has turned. Must not keep a process alive. @default calls back immediately */
  afterTurn?: AfterTurn
}

/**
 * The machine this process runs on. The kernel generates the files of /proc and /sys, so reading them never waits for a
 * disk.
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

/** The location of groups. */
interface CgroupVersion {
  /** The mount point of the controller. */
  mount: string
  /** Matches the line of /proc/self/cgroup that names our group. */
  line: RegExp
}

/** The file and field names of one version of cgroups. Version 1 counts the groups below only in `total_…`. */
interface Version extends CgroupVersion {
  limits: readonly string[]
  usage: string
  inactiveFile: RegExp
}

const VERSIONS: readonly Version[] = [
  {
    mount: '/sys/fs/cgroup',
    line: /^0::(\/.*)$/m,
    // Above `memory.high` a group is throttled so heavily that it counts as a limit.
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

/** The location of the CPU controller, and its form for a group without a quota. */
const CPU: readonly (CgroupVersion & { quota: string; none: RegExp })[] = [
  { mount: '/sys/fs/cgroup', line: /^0::(\/.*)$/m, quota: 'cpu.max', none: /^max/ },
  {
    mount: '/sys/fs/cgroup/cpu',
    line: /^\d+:(?:[^:\n]*,)?cpu(?:,[^:\n]*)?:(\/.*)$/m,
    quota: 'cpu.cfs_quota_us',
    none: /^-/,
  },
]

/**
 * Files that count how long a CPU quota has throttled this process: one for each group with a quota, its own and those
 * above that are visible.
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

/** Milliseconds for which a group's quota throttled it, from its `cpu.stat`; 0 if it does not say. */
function throttledMsOf(statistics: string | undefined): number {
  const [, v2, v1] = /^(?:throttled_usec (\d+)|throttled_time (\d+))$/m.exec(statistics ?? '') ?? []
  return v2 === undefined ? Number(v1 ?? 0) / 1e6 : Number(v2) / 1e3
}

/**
 * The limited control groups that this process is in: its own and all above that are visible, cgroup v2 or v1.
 *
 * Each group's use includes other processes: the fullest group decides. The word `max`, the huge number by which v1
 * says "unlimited", and anything else from `physicalBytes` on is no limit. Empty without a limit.
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
 * Our group and those above it. Inside a container the path may be that of the host, of which only the last part is
 * mounted, as the root; then the directories between are missing, and the root is ours.
 */
function directories({ mount, line }: CgroupVersion, membership: string): string[] {
  const path = line.exec(membership)?.[1] ?? '/'
  const names = path.split('/').filter((name) => name !== '')
  // The group is outside of our namespace: `/../other`.
  if (names.includes('..')) return [mount]
  return names.map((_, depth) => `${mount}/${names.slice(0, names.length - depth).join('/')}`).concat(mount)
}

function workingSet(read: ReadFile, { usage, inactiveFile }: Version, directory: string): number {
  const used = bytes(read(`${directory}/${usage}`))
  const inactive = inactiveFile.exec(read(`${directory}/memory.stat`) ?? '')?.[1]
  // Without the statistics the cache counts as used: the estimate is then too high rather than too low.
  return Math.max(0, used - (inactive === undefined ? 0 : Number(inactive)))
}

/** The number in a file; NaN for the word `max`, for anything else, and if there is no such file. */
function bytes(text: string | undefined): number {
  return /^\d+\s*$/.test(text ?? '') ? Number(text) : Number.NaN
}

/**
 * Total time for which CPU quotas of this process's containers have throttled it, in milliseconds; 0 without a quota.
 *
 * Quotas are looked up once. A reading then costs one small file per quota, and nothing without one.
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
