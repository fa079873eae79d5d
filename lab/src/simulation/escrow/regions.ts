import {
  FederatedFairEscrow,
  type Hierarchy,
  RegionFairPool,
  WeightedFairEscrow,
  weightedMaxMin,
} from '@fairlead/core/escrow'
import { manualClock, seededRandom } from '@fairlead/core/testing'

/** A tenant, and its demand in each region in a window: a number of requests of cost 1. */
export interface RegionalTenant {
  name: string
  weight: number
  demands: Readonly<Record<string, number>>
}

export interface RegionsScenario {
  seed: number
  limit: number
  windowMs: number
  quantum: number
  tenants: readonly RegionalTenant[]
  /** Times of the requests: evenly spread, or at any moments of the window. @default 'evenly' */
  moments?: 'evenly' | 'any'
  /** Milliseconds after which a refused tenant asks again, until the window ends. @default windowMs / 50 */
  againMs?: number
  /** `'flat'` is one escrow for all regions, for comparison. @default 'regions' */
  form?: 'regions' | 'flat'
  /** Groups that share first among themselves. @default all are in one group */
  tree?: Hierarchy
}

/** What a tenant asks for in all regions. */
export function demandOf({ demands }: RegionalTenant): number {
  return Object.values(demands).reduce((sum, demand) => sum + demand, 0)
}

/** The share of each tenant if all were in one place. */
export function idealOf(tenants: readonly RegionalTenant[], limit: number): number[] {
  return weightedMaxMin(
    tenants.map(demandOf),
    tenants.map(({ weight }) => weight),
    limit,
  )
}

/** Runs one window of a pool in this process, and returns the admissions of each tenant, over all regions. */
export function simulateRegions(scenario: RegionsScenario): Map<string, number> {
  const { seed, limit, windowMs, quantum, tenants, moments = 'evenly' } = scenario
  const { againMs = windowMs / 50, form = 'regions', tree } = scenario
  const groups = tree === undefined ? {} : { tree }
  const random = seededRandom(seed)
  const clock = manualClock()
  const pool = new RegionFairPool({ limit, windowMs, quantum, clock })
  const weights = new Map(tenants.map(({ name, weight }) => [name, weight]))
  const weightOf = (tenant: string): number => weights.get(tenant)!
  const timers = new Set<{ atMs: number; ring: () => void }>()
  const after = (ms: number, ring: () => void) => {
    const timer = { atMs: clock() + ms, ring }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const flat = new WeightedFairEscrow({ limit, windowMs, weightOf, clock, ...groups })
  const escrows = new Map<string, FederatedFairEscrow>()
  const admitted = new Map(tenants.map(({ name }) => [name, 0]))
  const asks: { atMs: number; tenant: string; region: string }[] = []
  for (const { name: tenant, demands } of tenants)
    for (const [region, demand] of Object.entries(demands)) {
      if (!escrows.has(region))
        escrows.set(region, new FederatedFairEscrow({ region, pool, weightOf, after, ...groups }))
      for (let at = 0; at < demand; at++) {
        const part = moments === 'evenly' ? (at + random()) / demand : random()
        asks.push({ atMs: part * windowMs, tenant, region })
      }
    }
  asks.sort((a, b) => a.atMs - b.atMs)
  // The refused requests, in the order of their return.
  let waiting: typeof asks = []
  let looks = 1
  const ask = (one: (typeof asks)[number]): void => {
    const escrow = form === 'flat' ? flat : escrows.get(one.region)!
    const decision = escrow.check(one.tenant, 1)
    if (decision instanceof Promise) throw new Error('a pool in this process answers at once')
    if (decision.allowed) admitted.set(one.tenant, admitted.get(one.tenant)! + 1)
    else waiting.push(one)
  }
  const waitUntil = (atMs: number): void => {
    for (;;) {
      let first: { atMs: number; ring: () => void } | undefined
      for (const timer of timers) if (timer.atMs <= (first?.atMs ?? atMs)) first = timer
      if (first === undefined) break
      timers.delete(first)
      clock.advance(Math.max(0, first.atMs - clock()))
      first.ring()
    }
    clock.advance(atMs - clock())
  }
  const moveTo = (atMs: number): void => {
    for (; looks * againMs <= atMs; looks++) {
      waitUntil(looks * againMs)
      const again = waiting
      waiting = []
      for (const one of again) ask(one)
    }
    waitUntil(atMs)
  }
  for (const one of asks) {
    moveTo(one.atMs)
    ask(one)
  }
  moveTo(windowMs - 1e-3)
  return admitted
}
