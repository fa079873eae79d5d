import { FederatedFairEscrow, MemoryPoolStore, RegionFairPool } from '@fairlead/core/escrow'
import type { Effort, Findings, Tell } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { CounterStore } from './counter-store.js'
import type { RuleOf, Terms } from './rule.js'
import { SEEDS } from './seeds.js'
import { type Asker, play } from './window.js'

const LIMIT = 1_000
const QUANTUM = 10
const ARRIVALS = [0.25, 0.5, 0.75] as const
const LATE = 'late'

/** A region of four light tenants at an even pace, until a heavy one wants the rest; then ten times as fast. */
function askersOf(arrival: number): Asker[] {
  const early = Array.from({ length: 4 }, (_, i) => ({
    name: `early-${i}`,
    costs: [1],
    every: 4 / LIMIT,
    later: { from: arrival, every: 0.4 / LIMIT },
  }))
  return [...early, { name: LATE, weight: 4, costs: [1], every: 1 / LIMIT, from: arrival }]
}

type Pool = 'counter' | 'ours'

/** One escrow for each region, on one pool in this process. */
function regionsOn(pool: Pool): RuleOf {
  return ({ limit, windowMs, weightOf, clock }: Terms) => {
    const store = pool === 'counter' ? new CounterStore(clock) : new MemoryPoolStore({ clock })
    const shared = new RegionFairPool({ limit, windowMs, quantum: QUANTUM, store, clock })
    const after = () => () => {}
    const escrowOf = (region: string) => new FederatedFairEscrow({ region, pool: shared, weightOf, after })
    const regions = { early: escrowOf('early'), late: escrowOf('late') }
    return {
      check(tenant, cost) {
        const decision = regions[tenant === LATE ? 'late' : 'early'].check(tenant, cost)
        if (decision instanceof Promise) throw new Error('a pool in this process answers at once')
        return decision
      },
    }
  }
}

/** A heavy region that comes late: means over the seeds. */
export interface Lateness {
  readonly arrival: number
  /** Units left when it arrived. */
  readonly left: number
  /** Units of those that it got. */
  readonly got: number
}

export function lateness(arrival: number, pool: Pool, effort: Effort): Lateness {
  const story = { limit: LIMIT, askers: askersOf(arrival) }
  const runs = seedsOf(effort, SEEDS).map((seed) => play(story, regionsOn(pool), seed))
  return {
    arrival,
    left: LIMIT - mean(runs.map(({ course }) => course[100 * arrival]!)),
    got: mean(runs.map(({ by }) => by.get(LATE)!)),
  }
}

/** The units left for a heavy region that arrives after a light one has begun. */
export function lateRegion(effort: Effort, tell: Tell): Findings {
  tell('a late region')
  const rows = ARRIVALS.map((arrival) => {
    return { counter: lateness(arrival, 'counter', effort), ours: lateness(arrival, 'ours', effort) }
  })
  return {
    aims: rows.map(({ counter, ours }) => ({
      what: `units of a heavy region that comes at ${ours.arrival} T`,
      published: counter.got,
      ours: ours.got,
      goal: { least: claimOf(ours.arrival) },
      digits: 0,
    })),
    tables: [
      {
        id: 'late',
        title:
          `A region of weight 4 comes late to one of four tenants of weight 1; units of ${LIMIT}. Claimed: half of ` +
          'what an even pace leaves, less what the window has let pass',
        head: ['it comes at', 'left then', 'gets of a plain counter', 'gets of ours', 'goal: its claim'],
        rows: rows.map(({ counter, ours }) => [
          `${ours.arrival} T`,
          ours.left.toFixed(0),
          counter.got.toFixed(0),
          ours.got.toFixed(0),
          `≥ ${claimOf(ours.arrival).toFixed(0)}`,
        ]),
      },
    ],
    pictures: {},
    data: rows,
  }
}

/** It has half of the weight, and its claim has faded since the window began. */
export function claimOf(arrival: number): number {
  return 0.5 * LIMIT * (1 - arrival)
}
