import type { Random } from '@fairlead/core'

/** The resource behind every handler: a token for each request, from a bucket with this rate per second. */
export const RESOURCE = { perSecond: 100, burst: 20 } as const

const QUIET_CLIENTS = 18
const HEAVY_CLIENTS = 2
/** Share of each client if all asked for more than the capacity. */
export const FAIR_LEVEL: number = RESOURCE.perSecond / (QUIET_CLIENTS + HEAVY_CLIENTS)
const QUIET_PER_SECOND = (2 * FAIR_LEVEL) / 3
const HEAVY_PER_SECOND = 10 * FAIR_LEVEL
/** Entitlement of a heavy client: its part of the capacity that the quiet ones leave. */
export const HEAVY_DUE: number = (RESOURCE.perSecond - QUIET_CLIENTS * QUIET_PER_SECOND) / HEAVY_CLIENTS

export interface Client {
  readonly heavy: boolean
  readonly perSecond: number
  /** Source address of its connections, for guards that use the address. Linux has all of 127/8. */
  readonly address: string
}

/** 18 clients that ask for two thirds of the fair level each, and 2 that ask for ten times it. */
export const CLIENTS: readonly Client[] = Array.from({ length: QUIET_CLIENTS + HEAVY_CLIENTS }, (_, i) => {
  const heavy = i >= QUIET_CLIENTS
  return {
    heavy,
    perSecond: heavy ? HEAVY_PER_SECOND : QUIET_PER_SECOND,
    address: `127.0.1.${i + 1}`,
  }
})

export interface Arrival {
  readonly atMs: number
  /** Index in {@link CLIENTS}. */
  readonly client: number
}

/** Poisson arrivals of all clients, in order of time, independent of the answers. */
export function arrivals(seconds: number, random: Random): Arrival[] {
  const all: Arrival[] = []
  for (const [client, { perSecond }] of CLIENTS.entries()) {
    const gapMs = (): number => (-1_000 * Math.log(1 - random())) / perSecond
    for (let atMs = gapMs(); atMs < 1_000 * seconds; atMs += gapMs()) all.push({ atMs, client })
  }
  return all.sort((a, b) => a.atMs - b.atMs)
}
