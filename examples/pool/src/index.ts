import { setTimeout as sleep } from 'node:timers/promises'
import { ResourceExhaustedError } from '@fairlead/core'

let free = 3

/** Asks a pool of three connections that says so when it is empty, instead of making everyone wait. */
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
