import { hierarchy } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { it } from 'vitest'
import { simulateRegions } from './regions.js'

const N = Number(process.env['N'] ?? 200)
it('worlds', () => {
  let beyond = 0, worst = 0, sumDev = 0, count = 0, low = 0, over = 0
  const bad: string[] = []
  const shorts: [number, number, string][] = []
  for (let world = Number(process.env['FROM'] ?? 0); world < N; world++) {
    const random = seededRandom(world + 1)
    const upTo = (most: number): number => Math.floor(random() * (most + 1))
    const limit = 400 + upTo(1600)
    const quantum = Math.max(1, Math.round(limit / 100))
    const groups = Array.from({ length: 2 + upTo(2) }, (_, g) => ({ name: `g${g}`, weight: 1 + upTo(3), children: Array.from({ length: 1 + upTo(2) }, (_, t) => ({ name: `g${g}/t${t}`, weight: 1 + upTo(3) })) }))
    const tree = hierarchy({ name: 'all', children: groups })
    const all = process.env['ALL'] === '1'
    const tenants = groups.flatMap((group) => group.children.map((child) => {
      const wants = limit * (all ? 1.5 : random() < 0.2 ? 1 / limit : random() < 0.4 ? 0.02 + 0.2 * random() : 0.3 + 1.2 * random())
      const regions = ['a', 'b', 'c'].filter((_r, i) => i === upTo(2) || random() < 0.4)
      if (regions.length === 0) regions.push('a')
      const parts = regions.map((region) => [region, 0.05 + random()] as const)
      const sum = parts.reduce((total, [, part]) => total + part, 0)
      return { ...child, demands: Object.fromEntries(parts.map(([r, p]) => [r, Math.max(1, Math.ceil((wants * p) / sum))])) }
    }))
    const shared = { limit, windowMs: 1000, quantum, seed: world, tenants, ...(process.env['FLAT'] ? {} : { tree }), moments: 'any' as const }
    const got = simulateRegions(shared), flat = simulateRegions({ ...shared, form: 'flat' })
    const total = [...got.values()].reduce((a, b) => a + b, 0), totalFlat = [...flat.values()].reduce((a, b) => a + b, 0)
    if (total > limit) over++
    shorts.push([(totalFlat - total) / limit, world, JSON.stringify(tenants.map((t) => [t.name, t.weight, t.demands, got.get(t.name), flat.get(t.name)])) + ' groups ' + groups.map((g) => g.weight) + ' L ' + limit])
    low = Math.max(low, (totalFlat - total) / limit)
    for (const { name, demands } of tenants) {
      const d = Math.abs(got.get(name)! - flat.get(name)!)
      sumDev += d / limit; count++
      const bound = Object.keys(demands).length * (2 * quantum + 1)
      worst = Math.max(worst, (d - bound) / limit)
      if (d > bound + limit / 50) { beyond++; if (true) bad.push(`${(d / limit).toFixed(3)} world ${world} ${name} got ${got.get(name)} flat ${flat.get(name)} L ${limit} total ${total}/${totalFlat} q ${quantum} :: ${JSON.stringify(tenants.map((t) => [t.name, t.weight, t.demands, got.get(t.name), flat.get(t.name)]))} groups ${groups.map((g) => g.weight)}`) }
    }
  }
  console.log({ N, beyond, count, worst, mean: sumDev / count, low, over })
  shorts.sort((a, b) => b[0] - a[0])
  console.log(shorts.map((x) => x[0].toFixed(3)).join(' '))
  console.log(shorts.slice(0, 3).map(String).join('\n'))
  console.log(bad.sort().reverse().slice(0, 6).join('\n'))
}, 600000)
