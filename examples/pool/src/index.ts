import { setTimeout as sleep } from 'node:timers/promises'
import { ResourceExhaustedError } from '@fairlead/core'

let free = 3

/** Queries a pool of three connections, which reports its exhaustion instead of making everyone wait. */
export async function query<T>(answer: T, signal?: AbortSignal): Promise<T> {
  if (free === 0) throw new ResourceExhaustedError('no free connection')
  free--
  try {
    await sleep(20, undefined, { signal })
    return answer
  } finally {
    free++
  }
}
