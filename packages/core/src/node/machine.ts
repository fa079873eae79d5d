import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import type { ReadFile } from './cgroup.js'
import { type WatchCollections, watchCollections } from './collections.js'
import { collectSoon } from './garbage.js'

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
}
