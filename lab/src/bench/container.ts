/** A cgroup for one measurement, which limits its processes as a container would. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

export interface Limits {
  memoryMb?: number
  /** CPU quota in cores, in periods of 100 ms. */
  cores?: number
  /** Gives the group precedence over all other processes of the machine, so that only its quota limits it. */
  ahead?: boolean
}

/** A cgroup with the limits of a container. */
export interface Container {
  /** Moves a process, and the processes that it will start, into the group. */
  add(pid: number): void
  remove(): void
}

const ROOT = '/sys/fs/cgroup'
const PERIOD_US = 100_000

/** Throws an error with the reason if such a group cannot be created on this machine. */
export function container({ memoryMb, cores, ahead = false }: Limits): Container {
  const name = `fairlead-bench-${process.pid}-${Date.now()}`
  const v2 = existsSync(`${ROOT}/cgroup.controllers`)
  const made: string[] = []
  const group = (mount: string, files: Record<string, string>): void => {
    const directory = `${mount}/${name}`
    mkdirSync(directory, { recursive: true })
    made.push(directory)
    for (const [file, text] of Object.entries(files)) writeFileSync(`${directory}/${file}`, text)
  }
  const bytes = memoryMb === undefined ? undefined : String(memoryMb * 2 ** 20)
  const quota = cores === undefined ? undefined : String(Math.round(cores * PERIOD_US))
  const remove = (): void => {
    for (const directory of made) if (existsSync(directory)) rmdirSync(directory)
  }
  try {
    if (v2) {
      const missing = ['memory', 'cpu'].filter(
        (one) => !readFileSync(`${ROOT}/cgroup.subtree_control`, 'utf8').includes(one),
      )
      if (missing.length > 0) writeFileSync(`${ROOT}/cgroup.subtree_control`, missing.map((one) => `+${one}`).join(' '))
      group(ROOT, {
        ...(bytes && { 'memory.max': bytes, 'memory.swap.max': '0' }),
        ...(quota && { 'cpu.max': `${quota} ${PERIOD_US}` }),
        ...(ahead && { 'cpu.weight': '10000' }),
      })
    } else {
      if (bytes) group(`${ROOT}/memory`, { 'memory.limit_in_bytes': bytes })
      if (quota)
        group(`${ROOT}/cpu`, {
          'cpu.cfs_period_us': String(PERIOD_US),
          'cpu.cfs_quota_us': quota,
          ...(ahead && { 'cpu.shares': '262144' }),
        })
    }
  } catch (error) {
    remove()
    throw new Error(`no child cgroup can be made here, so nothing is measured: ${(error as Error).message}`)
  }
  return {
    add(pid) {
      for (const directory of made) writeFileSync(`${directory}/cgroup.procs`, String(pid))
    },
    remove,
  }
}
