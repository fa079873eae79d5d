import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TurnoverMap } from '../containers.js'
import { MaxMin } from './slots.js'

interface Member {
  wants: number
  due: number
}

/** The same by raising the level of the first full member, then of the next, and so on. */
function filled(members: readonly Member[], amount: number): number {
  const byFullness = [...members].sort((a, b) => a.wants / a.due - b.wants / b.due)
  let rest = amount
  for (const [i, { wants, due }] of byFullness.entries()) {
    const level = rest / byFullness.slice(i).reduce((sum, each) => sum + each.due, 0)
    if (wants / due > level) return level
    rest -= wants
  }
  return Number.POSITIVE_INFINITY
}

const member = fc.record({
  wants: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 }), fc.double({ min: 1e-3, max: 1e3, noNaN: true })),
  due: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.double({ min: 1e-3, max: 1e3, noNaN: true })),
})
const step = fc.record({ name: fc.nat(7), member: fc.option(member), amount: fc.integer({ min: 1, max: 40 }) })

it('shares are never above max-min, and exactly that when nothing changes any more', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      let changes = 0
      const members = new TurnoverMap<Member>()
      const shares = new MaxMin(
        members,
        ({ wants }) => wants,
        ({ due }) => due,
      )
      const close = (share: number, right: number): boolean =>
        share === right || Math.abs(share - right) <= 1e-9 * right
      for (const { name, member: next, amount } of steps) {
        if (next === null) members.delete(`${name}`)
        else members.set(`${name}`, { ...next })
        changes++
        const level = filled([...members.entries.values()], amount)
        for (const each of members.entries.values()) {
          const share = shares.shareOf(each, amount, changes)
          expect(share <= each.due * level || close(share, each.due * level)).toBe(true)
        }
      }
      const { amount } = steps.at(-1)!
      const level = filled([...members.entries.values()], amount)
      for (const each of members.entries.values()) {
        changes++
        expect(close(shares.shareOf(each, amount, changes), each.due * level)).toBe(true)
      }
    }),
    { numRuns: byWidth(200, 1_000) },
  )
})

it('many members are looked at a few times for each change, and what some do not want comes to the others', () => {
  const members = new TurnoverMap<Member>()
  let [asked, changes] = [0, 0]
  const shares = new MaxMin(
    members,
    ({ wants }) => {
      asked++
      return wants
    },
    ({ due }) => due,
  )
  const heavy = { wants: 1_000, due: 1 }
  members.set('heavy', heavy)
  for (let i = 0; i < 1_000; i++) {
    members.set(`light-${i}`, { wants: 0.5, due: 1 })
    changes++
    shares.shareOf(heavy, 1_000, changes)
  }
  expect(asked).toBeLessThan(64 * 1_000)
  // It need not know the last eighth of the changes.
  expect(shares.shareOf(heavy, 1_000, changes)).toBeGreaterThan(500)
  expect(shares.shareOf(heavy, 1_000, changes)).toBeLessThan(1.2 * 500)
})
