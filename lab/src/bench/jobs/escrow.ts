import { type HierarchyNode, hierarchy, type Reserve, WeightedFairEscrow } from '@fairlead/core/escrow'
import { manualClock } from '@fairlead/core/testing'
import { flowNames } from '../flow-names.js'
import { costOf } from '../measure.js'
import type { Section } from '../report/section.js'

const TENANTS = [8, 1_000, 10_000, 100_000]
const TENANTS_OF_HIERARCHIES = [1_000, 100_000]
const WINDOW_MS = 60_000
/** Budget of a tenant, in units of 1: more than a measurement uses. */
const SHARE = 2 ** 30
/** Of a comparison in turn. */
const ROUNDS = 8
const CALLS = 200_000
/** One more tenant, in no organisation, that leaves nearly nothing to late tenants. */
const EARLY_BIRD = 'early bird'

/**
 * Cost of a check of weighted fair escrow, for several numbers of active tenants, which ask in a random order; flat,
 * and in a hierarchy of three levels: organisations, teams, tenants, with about the same number of children in each.
 */
export async function escrow(): Promise<Section> {
  const flat: string[][] = []
  for (const tenants of TENANTS) flat.push(await rowOf('flat', tenants))
  const deep: string[][] = []
  for (const tenants of TENANTS_OF_HIERARCHIES) deep.push(await rowOf('hierarchy', tenants))
  const besideMap = TENANTS_OF_HIERARCHIES.map(inTurn)
  return {
    file: 'bench-escrow',
    title: 'A check of escrow',
    about: [
      'Weighted fair escrow, by the number of active tenants, of weights 1 to 4, which ask in a random order. *Within*: ' +
        'the guarantee covers the cost; *borrowed*: half of the tenants have used their guarantees, and borrow from ' +
        'the idle other half; *refused*: the same, but the unused guarantees stay reserved, and all refused tenants ' +
        'wait; *becoming active*: one new tenant for each twenty, or eight; *little left*: the same, when all ' +
        'guarantees have to shrink for each of them. *A Map*: reading and writing an entry of a Map, and reading the ' +
        'clock, for the same tenants in the same order. Medians.',
    ],
    tables: [
      { id: 'checks', title: 'ns per check', head: HEAD, rows: flat },
      {
        id: 'hierarchies',
        title: 'ns per check in a hierarchy of organisations, teams, tenants',
        head: HEAD,
        rows: deep,
      },
      {
        id: 'in-turn',
        title: 'processor time of a check that borrows and of a Map in turn, ns, the least of eight rounds',
        head: ['tenants', 'a Map', 'borrowed'],
        rows: besideMap,
      },
    ],
    remarks: [],
  }
}

const HEAD = [
  'tenants',
  'a Map',
  'within the guarantee',
  'borrowed',
  'refused',
  'becoming active',
  'the same, little left',
]

type Form = 'flat' | 'hierarchy'

const weightOf = (tenant: string): number => 1 + (tenant.charCodeAt(0) % 4)

/** Tenants are distributed over teams, and teams over organisations. */
function treeOf(tenants: readonly string[]): HierarchyNode {
  const side = Math.round(Math.cbrt(tenants.length))
  const teams = Array.from({ length: side ** 2 }, () => [] as HierarchyNode[])
  for (const [i, name] of tenants.entries()) teams[i % teams.length]!.push({ name, weight: weightOf(name) })
  const organisations = Array.from({ length: side }, (_, o) => ({
    name: `organisation ${o}`,
    weight: 1 + (o % 4),
    children: teams
      .slice(o * side, (o + 1) * side)
      .map((children, t) => ({ name: `team ${t}`, weight: 1 + (t % 4), children })),
  }))
  return { name: 'all', children: [...organisations, { name: EARLY_BIRD }] }
}

/** An escrow in which `names` will be active; those that are `coming` also belong to it. */
function escrowOf(form: Form, names: readonly string[], coming: readonly string[], reserve: Reserve) {
  const clock = manualClock()
  const limit = names.length * SHARE
  const options = { limit, windowMs: WINDOW_MS, reserve, clock }
  const escrow =
    form === 'flat'
      ? new WeightedFairEscrow({ ...options, maxTenants: 2 * TENANTS.at(-1)!, weightOf })
      : new WeightedFairEscrow({ ...options, tree: hierarchy(treeOf([...names, ...coming])) })
  return { clock, limit, escrow }
}

/** An escrow in which the first half has used its guarantee, and the rest has become idle. */
function halfSpent(form: Form, names: readonly string[], reserve: Reserve) {
  const { clock, escrow } = escrowOf(form, names, [], reserve)
  // In another order than the measured calls.
  for (const name of names.toSorted()) escrow.check(name, 1)
  const asking = names.slice(0, names.length / 2)
  for (const name of asking) {
    const { remaining } = escrow.peek(name, 1)
    escrow.check(name, remaining)
  }
  clock.advance(WINDOW_MS / 2)
  return { escrow, asking }
}

/** The least that a limiter with a record for each tenant does. */
function mapAndClock(names: readonly string[]): (tenant: string) => void {
  const used = new Map(names.toSorted().map((name) => [name, { used: 0, atMs: 0 }]))
  return (tenant) => {
    const { used: before } = used.get(tenant)!
    used.set(tenant, { used: before + 1, atMs: performance.now() })
  }
}

/** Processor time does not depend on the machine's other work, except on its use of the cache. */
function inTurn(tenants: number): string[] {
  const names = flowNames(tenants)
  const { escrow, asking } = halfSpent('flat', names, 'paced')
  const works = [mapAndClock(names), (tenant: string) => void escrow.check(tenant, 1 + (tenant.charCodeAt(1) % 16))]
  const least = works.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < ROUNDS; round++)
    for (const [at, work] of works.entries()) {
      const from = process.cpuUsage()
      for (let i = 0; i < CALLS; i++) work(asking[i % asking.length]!)
      const { user, system } = process.cpuUsage(from)
      least[at] = Math.min(least[at]!, ((user + system) * 1_000) / CALLS)
    }
  return [tenants.toLocaleString('en'), ...least.map((ns) => ns.toFixed(0))]
}

async function within(form: Form, names: readonly string[]): Promise<number> {
  const { escrow } = escrowOf(form, names, [], 'paced')
  for (const name of names.toSorted()) escrow.check(name, 1)
  return (await costOf((tenant) => escrow.check(tenant, 1 + (tenant.charCodeAt(1) % 16)), names)).ns
}

async function halfAsks(form: Form, names: readonly string[], reserve: Reserve, what: 'borrowed' | 'refused') {
  const { escrow, asking } = halfSpent(form, names, reserve)
  const { ns } = await costOf((tenant) => escrow.check(tenant, 1 + (tenant.charCodeAt(1) % 16)), asking)
  const { borrowed, refused } = escrow.snapshot()
  const seen = { borrowed, refused }
  if (seen[what] < 0.9 * (borrowed + refused)) throw new Error(`expected ${what}, got ${JSON.stringify(seen)}`)
  return ns
}

/** The median of some windows: ns per newcomer, for one newcomer per twenty tenants (at least 8). */
function newcomers(form: Form, names: readonly string[], late: boolean): number {
  const count = Math.max(8, names.length / 20)
  const coming = flowNames(names.length + count).slice(names.length)
  const { clock, escrow, limit } = escrowOf(form, names, coming, 'paced')
  const order = names.toSorted()
  const runs: number[] = []
  const windows = Math.max(7, 40_000 / names.length)
  clock.advance(WINDOW_MS / 4)
  for (let window = 0; window < windows; window++) {
    // After a window without calls, the tenants of the one before are forgotten.
    clock.advance((WINDOW_MS * 7) / 4)
    // Takes all but a millionth, which is less than the share of the newcomers.
    if (late) escrow.check(EARLY_BIRD, limit * (1 - 1e-6))
    for (const name of order) escrow.check(name, 1)
    clock.advance(WINDOW_MS / 4)
    const start = performance.now()
    for (const name of coming) escrow.check(name, 1)
    runs.push(((performance.now() - start) * 1e6) / count)
  }
  const { tenants, refused } = escrow.snapshot()
  if (tenants !== names.length + count + (late ? 1 : 0) || refused > 0)
    throw new Error(`${tenants} active, ${refused} refused`)
  return runs.sort((x, y) => x - y)[runs.length >> 1]!
}

async function rowOf(form: Form, tenants: number): Promise<string[]> {
  const names = flowNames(tenants)
  const row = [
    (await costOf(mapAndClock(names), names)).ns,
    await within(form, names),
    await halfAsks(form, names, 'paced', 'borrowed'),
    await halfAsks(form, names, 'strict', 'refused'),
    newcomers(form, names, false),
    newcomers(form, names, true),
  ]
  return [tenants.toLocaleString('en'), ...row.map((ns) => ns.toFixed(0))]
}
