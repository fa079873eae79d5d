import { describe, expect, it } from 'vitest'
import { type Arrivals, arrivalsOf, flowsOf } from './arrivals.js'
import type { Crowd } from './scenario.js'

const RESOURCE = { kind: 'bucket', rate: 1, burst: 1 } as const

function arrive(crowd: Crowd, seconds = 100, seed = 1): Arrivals {
  return arrivalsOf({ name: 'x', seconds, resource: RESOURCE, crowds: [crowd] }, seed)
}

describe('arrivals', () => {
  it('come at their rate, in order, the same for the same seed', () => {
    const one = arrive({ name: 'flow', flows: 50, rate: 4 })
    expect(one.count).toBeGreaterThan(19_400)
    expect(one.count).toBeLessThan(20_600)
    expect([...one.at]).toEqual([...one.at].sort((x, y) => x - y))
    expect(arrive({ name: 'flow', flows: 50, rate: 4 })).toEqual(one)
    expect(arrive({ name: 'flow', flows: 50, rate: 4 }, 100, 2).count).not.toBe(one.count)
  })

  it('come while their flow is there and active', () => {
    const { at } = arrive({ name: 'flow', flows: 20, rate: 5, between: [10, 50], bursts: { on: 5, off: 15 } })
    expect(at.length).toBeGreaterThan(800)
    for (const time of at) expect((time - 10) % 20).toBeLessThan(5)
    expect(at[0]).toBeGreaterThan(10)
    expect(at.at(-1)).toBeLessThan(50)
  })

  it('come at even intervals where that is said', () => {
    const { at } = arrive({ name: 'flow', flows: 1, rate: 4, even: true })
    for (let i = 1; i < at.length; i++) expect(at[i]! - at[i - 1]!).toBeCloseTo(0.25, 9)
    expect(at).toHaveLength(400)
  })

  it('cost 1, or a mean', () => {
    expect(new Set(arrive({ name: 'flow', flows: 5, rate: 4 }).cost)).toEqual(new Set([1]))
    const { cost, count } = arrive({ name: 'flow', flows: 50, rate: 4, cost: 3 })
    expect(cost.reduce((sum, each) => sum + each) / count).toBeCloseTo(3, 0)
  })

  it('are asked by new names, while the flow stays the same', () => {
    const { name, names, flow } = arrive({ name: 'flow', flows: 1, rate: 1, renamedAfter: 10 })
    expect([...name]).toEqual([...name].map((_, i) => Math.floor(i / 10)))
    expect(names).toBe(Math.ceil(name.length / 10))
    expect(new Set(flow)).toEqual(new Set([0]))
  })
})

describe('a crowd that continues another', () => {
  it('asks by the same names, as flows of its own', () => {
    const crowd: Crowd = { name: 'loud', flows: 3, rate: 1, between: [0, 50] }
    const crowds = [{ ...crowd, name: 'first' }, crowd, { ...crowd, between: [50, 100], continues: true } as const]
    const { name, flow } = arrivalsOf({ name: 'x', seconds: 100, resource: RESOURCE, crowds }, 1)
    expect(new Set(flow)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    for (const [i, each] of flow.entries()) expect(name[i]).toBe(each < 6 ? each : each - 3)
  })
})

describe('the flows of a crowd', () => {
  it('ask by Zipf’s law for their mean rate', () => {
    const rates = flowsOf({ crowds: [{ name: 'flow', flows: 4, rate: 2, zipf: 1 }] }).map(({ rate }) => rate)
    expect(rates[0]! / rates[3]!).toBeCloseTo(4, 9)
    expect(rates.reduce((sum, rate) => sum + rate)).toBeCloseTo(8, 9)
  })
})
