/** Text of a small file, or undefined if it cannot be read. */
export type ReadFile = (path: string) => string | undefined

/** A control group, of this process or one above it, whose memory is limited. */
export interface LimitedGroup {
  limitBytes: number
  /** Memory that the group needs: what it uses, less cached file pages that nobody touched lately; NaN if unknown. */
  workingSetBytes(): number
}

/** What the two versions of cgroups call things. Version 1 counts the groups below only in `total_…`. */
interface Version {
  /** Where the memory controller is mounted. */
  mount: string
  /** Of the line of /proc/self/cgroup that names our group. */
  line: RegExp
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
function directories({ mount, line }: Version, membership: string): string[] {
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
