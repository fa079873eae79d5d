import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { ReadFile } from './cgroup.js'

/** Where a memory signal gets its numbers: this machine, or a recorded one. */
export interface Machine {
  readFile: ReadFile
  /** Physical memory. */
  physicalBytes(): number
  /** The runtime's own idea of a limit. Absurdly large, 0 or undefined where there is none. */
  constrainedBytes(): number | undefined
  /** Resident set of this process. */
  residentBytes(): number
  /** What the engine has of it, garbage included: its heap, and buffers and other memory that it knows of. */
  engineBytes(): number
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
  residentBytes: () => process.memoryUsage.rss(),
  engineBytes(): number {
    const { total_heap_size: heap, external_memory: external } = getHeapStatistics()
    return heap + external
  },
}
