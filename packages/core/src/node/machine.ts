import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import type { ReadFile } from './cgroup.js'

/** The part of the standard interface that is used; the types of Node leave it to those of browsers. */
declare const WebAssembly: { Memory: new (descriptor: { initial: number }) => object }

/** V8 begins to collect when buffers of 64 MiB have come since it did last; in pages of 64 KiB. */
const COLLECTING_PAGES = 1_040

/** Where a memory signal gets its numbers: this machine, or a recorded one. */
export interface Machine {
  readFile: ReadFile
  /** Physical memory. */
  physicalBytes(): number
  /** The runtime's own idea of a limit. Absurdly large, 0 or undefined where there is none. */
  constrainedBytes(): number | undefined
  /** Resident set of this process. */
  residentBytes(): number
  /** Asks the engine to collect garbage soon. Makes nothing resident. */
  collect(): void
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
  collect(): void {
    try {
      // Never touched, so the kernel gives no memory for it; but the engine counts it, and finds it time to collect.
      new WebAssembly.Memory({ initial: COLLECTING_PAGES })
    } catch {
      // Not even addresses are to be had.
    }
  },
}
