import { pbkdf2Sync } from 'node:crypto'
import type { Resource } from './resource.js'

/** A few milliseconds of hashing on current machines. */
const ITERATIONS = 16_000

/**
 * The processor itself: every request computes on the only thread. Its exhaustion is never reported; requests just wait
 * longer for their turn of the event loop.
 */
export function processor(): Resource {
  let uses = 0
  return {
    async use() {
      uses++
      pbkdf2Sync('noisy', 'neighbour', ITERATIONS, 32, 'sha256')
    },
    snapshot: () => ({ uses }),
  }
}
