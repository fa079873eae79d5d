import { hierarchy } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { type FleetScenario, type FleetTenant, simulateFleet } from './fleet.js'
import { simulateRegions } from './regions.js'

/** Two to four groups of one to three tenants, with demands from one unit to more than the limit, in any regions. */
function worldOf(seed: number) {
  const random = seededRandom(seed)
  const upTo = (most: number): number => Math.floor(random() * (most + 1))
  const limit = 400 + upTo(1_600)
  const groups = Array.from({ length: 2 + upTo(2) }, (_, group) => ({
    name: `g${group}`,
    weight: 1 + upTo(3),
    children: Array.from({ length: 1 + upTo(2) }, (_tenant, at) => ({ name: `g${group}/${at}`, weight: 1 + upTo(3) })),
  }))
  const tenants = groups.flatMap(({ children }) =>
    children.map((tenant) => {
      const wants = random() < 0.2 ? 1 : limit * (random() < 0.4 ? 0.02 + 0.2 * random() : 0.3 + 1.2 * random())
      const home = upTo(2)
      const regions = ['a', 'b', 'c'].filter((_region, at) => at === home || random() < 0.4)
      const parts = regions.map((region) => [region, 0.05 + random()] as const)
      const sum = parts.reduce((total, [, part]) => total + part, 0)
      const demands = Object.fromEntries(parts.map(([region, part]) => [region, Math.ceil((wants * part) / sum)]))
      return { ...tenant, demands }
    }),
  )
  const tree = hierarchy({ name: 'all', children: groups })
  return { limit, windowMs: 1_000, quantum: Math.round(limit / 100), seed, tenants, tree, moments: 'any' as const }
}

describe('a tree over several regions', () => {
  it.each(Array.from({ length: 12 }, (_, at) => at + 1))('gives what it gives in one process, seed %d', (seed) => {
    const world = worldOf(seed)
    const [got, one] = [simulateRegions(world), simulateRegions({ ...world, form: 'flat' })]
    expect([...got.values()].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(world.limit)
    for (const { name, demands } of world.tenants) {
      const bound = Object.keys(demands).length * (2 * world.quantum + 1) + world.limit / 50
      expect(Math.abs(got.get(name)! - one.get(name)!), `${name}: ${got.get(name)} of ${one.get(name)}`).toBeLessThan(
        bound,
      )
    }
  })
})

function greedy(name: string, more: Partial<FleetTenant> = {}): FleetTenant {
  return { name, weight: 1, cost: 1, everyMs: 2, ...more }
}

/** Three parts of four are acme's, and one is globex's; each has tenants in all processes. */
const SCENARIO: FleetScenario = {
  seed: 1,
  limit: 2_000,
  windowMs: 2_000,
  quantum: 20,
  windows: 6,
  processes: [
    [greedy('acme/web'), greedy('globex/1')],
    [greedy('acme/web'), greedy('acme/batch')],
    [greedy('acme/batch'), greedy('globex/2')],
    [greedy('globex/1'), greedy('acme/web')],
  ],
  tree: hierarchy({
    name: 'all',
    children: [
      { name: 'acme', weight: 3, children: [{ name: 'acme/web' }, { name: 'acme/batch' }] },
      { name: 'globex', weight: 1, children: [{ name: 'globex/1' }, { name: 'globex/2' }] },
    ],
  }),
}

describe('a fleet with a tree', () => {
  it('uses .98 of the limit, and .96 in all but a few windows', async () => {
    const used: number[] = []
    for (let seed = 1; seed <= 12; seed++) {
      const { windows } = await simulateFleet({ ...SCENARIO, seed })
      used.push(...windows.slice(1).map(({ admitted }) => admitted))
    }
    expect(used.reduce((sum, each) => sum + each, 0) / used.length).toBeGreaterThan(0.98 * 2_000)
    // Of 300 windows, 5 were below that, and one used .93.
    expect(used.filter((each) => each <= 0.96 * 2_000).length).toBeLessThanOrEqual(0.04 * used.length)
  })

  it.each([1, 2, 3])('shares by weight in each group, seed %d', async (seed) => {
    const { windows } = await simulateFleet({ ...SCENARIO, seed })
    for (const { admitted } of windows.slice(1)) expect(admitted).toBeLessThanOrEqual(2_000)
    for (const [tenant, ideal] of [
      ['acme/web', 750],
      ['acme/batch', 750],
      ['globex/1', 250],
      ['globex/2', 250],
    ] as const) {
      const got = windows.slice(1).map(({ byTenant }) => byTenant.get(tenant)!)
      // A quantum is a hundredth: up to five of them in a window, and two on average.
      for (const each of got) expect(Math.abs(each - ideal), `${tenant}: ${got}`).toBeLessThanOrEqual(100)
      const mean = got.reduce((sum, each) => sum + each, 0) / got.length
      expect(Math.abs(mean - ideal), `${tenant}: ${got}`).toBeLessThanOrEqual(40)
    }
  })

  it('lends what one of a group leaves to the others of the group first', async () => {
    const away = { active: [0, 0.05] as const }
    const processes = SCENARIO.processes.map((some) =>
      some.map((one) => (one.name === 'acme/batch' ? { ...one, ...away } : one)),
    )
    const { windows } = await simulateFleet({ ...SCENARIO, processes })
    for (const { byTenant } of windows.slice(1)) {
      const globex = byTenant.get('globex/1')! + byTenant.get('globex/2')!
      expect(Math.abs(globex - 500), `globex ${globex}`).toBeLessThanOrEqual(100)
    }
  })

  it('never admits more than the limit, in bad weather, whoever crashes, and mostly uses it', async () => {
    const weather = { requestsLost: 0.025, answersLost: 0.01, late: 0.01 }
    const faults = [
      { atMs: 3_000, kind: 'stop', place: 1, forMs: 1_500 },
      { atMs: 5_000, kind: 'forget' },
      { atMs: 8_500, kind: 'forget', agoMs: 300 },
    ] as const
    const seconds: number[] = []
    for (let seed = 1; seed <= 8; seed++) {
      const result = await simulateFleet({ ...SCENARIO, seed, weather, crashes: 0.2, faults })
      expect(result.crashes).toBeGreaterThan(0)
      for (const { admitted } of result.windows) expect(admitted).toBeLessThanOrEqual(2_000)
      seconds.push(result.windows[1]!.admitted)
    }
    // Of 24 seeds 1711 to 1996, 1900 in the mean: a process that crashes takes its credit with it.
    expect(seconds.reduce((sum, admitted) => sum + admitted, 0) / seconds.length).toBeGreaterThan(1_830)
  })

  it('goes on with its last share while the store is away, and exceeds only what was kept', async () => {
    const away: [number, number] = [4_600, 10_200]
    const result = await simulateFleet({ ...SCENARIO, windows: 8, away, onStoreError: 'last-share' })
    for (const [at, { admitted }] of result.windows.entries())
      expect(admitted, `window ${at}`).toBeLessThanOrEqual(2_000 + (at === 2 ? result.heldWhenAway : 0))
    // Two whole windows without a store.
    for (const { admitted, byTenant } of result.windows.slice(3, 5)) {
      expect(admitted).toBeGreaterThan(0.8 * 2_000)
      const acme = byTenant.get('acme/web')! + byTenant.get('acme/batch')!
      expect(acme / admitted, 'acme').toBeGreaterThan(0.6)
    }
    expect(result.windows.at(-1)!.admitted).toBeGreaterThan(0.95 * 2_000)
  })
})
