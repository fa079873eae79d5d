import { type EscrowOptions, WeightedFairEscrow } from '@fairlead/core'
import { manualClock } from '@fairlead/core/testing'
import { flowNames } from './flow-names.js'
import { costOf } from './measure.js'
import { printTable } from './table.js'

/**
 * What a check of weighted fair escrow costs, beside so many active tenants, which ask in a random order.
 *
 * - *within*: the cost is covered by the tenant's own guarantee;
 * - *borrowed*: the tenant has used its guarantee up, and takes of what the silent half has let pass;
 * - *refused*: the same, but what the others leave is kept for them; all who are refused wait;
 * - *newcomer*: a tenant becomes active; *late*: when so little is left that everybody's guarantee has to sink.
 */
const TENANTS = [8, 1_000, 10_000, 100_000]
const WINDOW_MS = 60_000
/** What a tenant may use up, in units of 1: more than a measurement asks for. */
const SHARE = 2 ** 30

const weightOf = (tenant: string): number => 1 + (tenant.charCodeAt(0) % 4)

function escrowOf(tenants: number, options: Partial<EscrowOptions> = {}) {
  const clock = manualClock()
  const limit = tenants * SHARE
  const maxTenants = 2 * TENANTS.at(-1)!
  return {
    clock,
    limit,
    escrow: new WeightedFairEscrow({ limit, windowMs: WINDOW_MS, maxTenants, weightOf, clock, ...options }),
  }
}

/** An escrow in which the first half has used its guarantee up, and the rest has fallen silent. */
function halfSpent(names: readonly string[], reserve: 'strict' | 'paced') {
  const { clock, escrow } = escrowOf(names.length, { reserve })
  // In another order than that in which they will ask.
  for (const name of names.toSorted()) escrow.check(name, 1)
  const asking = names.slice(0, names.length / 2)
  for (const name of asking) {
    const { remaining } = escrow.peek(name, 1)
    escrow.check(name, remaining)
  }
  clock.advance(WINDOW_MS / 2)
  return { escrow, asking }
}

async function within(names: readonly string[]): Promise<number> {
  const { escrow } = escrowOf(names.length)
  for (const name of names.toSorted()) escrow.check(name, 1)
  return (await costOf((tenant) => escrow.check(tenant, 1 + (tenant.charCodeAt(1) % 16)), names)).ns
}

async function halfAsks(names: readonly string[], reserve: 'strict' | 'paced', what: 'borrowed' | 'refused') {
  const { escrow, asking } = halfSpent(names, reserve)
  const { ns } = await costOf((tenant) => escrow.check(tenant, 1 + (tenant.charCodeAt(1) % 16)), asking)
  const { borrowed, refused } = escrow.snapshot()
  const seen = { borrowed, refused: refused }
  if (seen[what] < 0.9 * (borrowed + refused)) throw new Error(`expected ${what}, got ${JSON.stringify(seen)}`)
  return ns
}

/** The median of some windows: ns per newcomer, of as many as one for each twenty tenants (at least 8). */
function newcomers(names: readonly string[], late: boolean): number {
  const count = Math.max(8, names.length / 20)
  const coming = flowNames(names.length + count).slice(names.length)
  const { clock, escrow, limit } = escrowOf(names.length)
  const order = names.toSorted()
  const runs: number[] = []
  const windows = Math.max(7, 40_000 / names.length)
  clock.advance(WINDOW_MS / 4)
  for (let window = 0; window < windows; window++) {
    clock.advance((WINDOW_MS * 3) / 4)
    // An early bird takes all but a millionth: what is left is less than what those who come would be due.
    if (late) escrow.check(order[0]!, limit * (1 - 1e-6))
    for (const name of order) escrow.check(name, 1)
    clock.advance(WINDOW_MS / 4)
    const start = performance.now()
    for (const name of coming) escrow.check(name, 1)
    runs.push(((performance.now() - start) * 1e6) / count)
  }
  const { tenants, refused } = escrow.snapshot()
  if (tenants !== names.length + count || refused > windows * 2)
    throw new Error(`${tenants} active, ${refused} refused`)
  return runs.sort((x, y) => x - y)[runs.length >> 1]!
}

const rows: string[][] = TENANTS.map((tenants) => [tenants.toLocaleString('en')])
for (const [i, tenants] of TENANTS.entries()) {
  const names = flowNames(tenants)
  const row = [
    await within(names),
    await halfAsks(names, 'paced', 'borrowed'),
    await halfAsks(names, 'strict', 'refused'),
    newcomers(names, false),
    newcomers(names, true),
  ]
  rows[i]!.push(...row.map((ns) => ns.toFixed(0)))
}

printTable(['ns per check, tenants', 'within', 'borrowed', 'refused', 'newcomer', 'late newcomer'], rows)
