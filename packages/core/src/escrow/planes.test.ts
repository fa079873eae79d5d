import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Plane, Planes } from './claims.js'

/** Members that claim the rest of their guarantees; records the members that were asked. */
class Members {
  readonly passed: number[]
  readonly asked: number[] = []

  constructor(passed: readonly number[]) {
    this.passed = [...passed]
  }

  readonly planeOf = (slot: number, level: number, faded: number): Plane => {
    this.asked.push(slot)
    const plane = new Plane()
    plane.claim(1, this.passed[slot]!, level, faded)
    return plane
  }

  total(level: number, faded: number): number {
    return this.passed.reduce((sum, passed) => sum + Math.max(0, level - Math.max(passed, faded)), 0)
  }
}

const passed = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 20 })
const place = fc.tuple(fc.double({ min: 0, max: 20, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))

describe('planes', () => {
  it('sum up, at any place, after any changes', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 20 })), { maxLength: 3 })
    fc.assert(
      fc.property(passed, fc.array(fc.tuple(place, changes), { minLength: 1 }), (first, steps) => {
        const members = new Members(first)
        const planes = new Planes(first.length)
        for (const slot of first.keys()) planes.set(slot, members.planeOf(slot, 0, 0))
        for (const [[level, tau], changed] of steps) {
          const faded = level * tau
          for (const [which, amount] of changed) {
            const slot = which % first.length
            members.passed[slot] = amount
            planes.set(slot, members.planeOf(slot, level, faded))
          }
          planes.update(members.planeOf, level, faded)
          const sum = new Plane()
          planes.addTo(sum)
          expect(sum.covers(level, faded)).toBe(true)
          expect(sum.at(level, faded)).toBeCloseTo(members.total(level, faded), 9)
        }
      }),
      propertyRuns(),
    )
  })

  it('ask only for those that are not right any more', () => {
    const members = new Members([3, 5, 8, 13, 13, 2, 7])
    const planes = new Planes(7)
    for (const slot of members.passed.keys()) planes.set(slot, members.planeOf(slot, 10, 0))
    const askedAt = (level: number, faded: number): number[] => {
      members.asked.length = 0
      planes.update(members.planeOf, level, faded)
      return [...members.asked].sort((a, b) => a - b)
    }
    expect(askedAt(10, 0)).toEqual([])
    expect(askedAt(9, 0)).toEqual([])
    expect(askedAt(7.5, 0)).toEqual([2])
    expect(askedAt(7.5, 4)).toEqual([0, 5])
    expect(askedAt(14, 4)).toEqual([2, 3, 4])
    planes.clear()
    expect(askedAt(14, 4)).toEqual([])
  })
})
