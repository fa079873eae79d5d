import { quotaStatistics, type ReadFile, throttledMsOf } from './cgroup.js'
import { thisMachine } from './machine.js'

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
