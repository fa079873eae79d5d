import type { Random } from '@fairlead/core'

/** One request, which will be sent whether or not earlier ones were answered. */
export interface Arrival {
  readonly atMs: number
  /** Index of the client. */
  readonly client: number
}

/**
 * Poisson arrivals of every client over `seconds`, in order of time: the gaps of a client are exponential with mean
 * 1/rate, independent of the answers. The same `random` stream gives the same arrivals.
 */
export function schedule(ratesPerSecond: readonly number[], seconds: number, random: Random): Arrival[] {
  const endMs = seconds * 1_000
  const arrivals: Arrival[] = []
  for (const [client, rate] of ratesPerSecond.entries())
    for (let atMs = gapMs(rate, random); atMs < endMs; atMs += gapMs(rate, random)) arrivals.push({ atMs, client })
  return arrivals.sort((a, b) => a.atMs - b.atMs || a.client - b.client)
}

function gapMs(ratePerSecond: number, random: Random): number {
  return (-Math.log(1 - random()) / ratePerSecond) * 1_000
}
