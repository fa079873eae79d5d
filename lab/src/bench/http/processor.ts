import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

/**
 * Keeps a process, all its threads, on one processor, so that neither a move to another nor a neighbour on the same one
 * counts as its work. False where the system has no `taskset`, or not two processors.
 */
export function pin(pid: number | undefined, processor: 'server' | 'load'): boolean {
  if (pid === undefined || cpus().length < 2) return false
  try {
    execFileSync('taskset', ['-acp', processor === 'server' ? '0' : '1', `${pid}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
