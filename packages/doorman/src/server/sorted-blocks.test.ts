import { seededRandom } from '@fairlead/core/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SortedBlocks } from './sorted-blocks.js'

class Wish {
  place = 0
  wants: number
  readonly mass: number

  constructor(wants: number, mass: number) {
    this.wants = wants
    this.mass = mass
  }
}

/** Max-min by sorting and filling from scratch. */
function levelOf(wishes: readonly Wish[], capacity: number): number {
  const sorted = wishes.toSorted((x, y) => x.wants / x.mass - y.wants / y.mass)
  let left = capacity
  let mass = sorted.reduce((sum, wish) => sum + wish.mass, 0)
  for (const wish of sorted) {
    if ((wish.wants / wish.mass) * mass >= left) return Math.max(0, left) / mass
    left -= wish.wants
    mass -= wish.mass
  }
  return Number.POSITIVE_INFINITY
}

function filled(wishes: readonly Wish[], level: number): number[] {
  return wishes.map(({ wants, mass }) => Math.min(wants, level * mass))
}

function furthest(ours: readonly number[], expected: readonly number[]): number {
  return Math.max(0, ...ours.map((share, i) => Math.abs(share - expected[i]!)))
}

const wishes = fc.record({
  wants: fc.oneof(fc.constant(0), fc.nat(20), fc.double({ min: 0, max: 1e4, noNaN: true })),
  mass: fc.integer({ min: 1, max: 9 }),
})

describe('SortedBlocks', () => {
  it('finds the level that sorting and filling from scratch finds', () => {
    fc.assert(
      fc.property(
        fc.array(wishes, { maxLength: 40 }),
        fc.double({ min: 1e-3, max: 1e4, noNaN: true }),
        (some, capacity) => {
          const blocks = new SortedBlocks<Wish>()
          const all = some.map(({ wants, mass }) => new Wish(wants, mass))
          for (const wish of all) blocks.add(wish, wish.wants, wish.mass)
          const ours = filled(all, blocks.level(capacity))
          const expected = filled(all, levelOf(all, capacity))
          expect(furthest(ours, expected)).toBeLessThanOrEqual(1e-9 * capacity)
        },
      ),
    )
  })

  it.each([1, 2, 3, 4])('does so while thousands come, change and go (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const blocks = new SortedBlocks<Wish>()
    const present: Wish[] = []
    const add = (): void => {
      const wants = random() < 0.3 ? Math.floor(random() * 4) : random() * 100
      const wish = new Wish(wants, 1 + Math.floor(random() * 3))
      present.push(wish)
      blocks.add(wish, wish.wants, wish.mass)
    }
    const remove = (): void => {
      const at = Math.floor(random() * present.length)
      const wish = present[at]!
      present[at] = present.at(-1)!
      present.pop()
      blocks.remove(wish)
    }
    for (const [target, steps] of [
      [3_000, 6_000],
      [3_000, 6_000],
      [10, 6_000],
      [1_000, 2_000],
      [0, 4_000],
    ] as const)
      for (let step = 0; step < steps; step++) {
        if (present.length < target && random() < 0.8) add()
        else if (present.length > 0) remove()
        if (step % 500 !== 0 || present.length === 0) continue
        const wanted = present.reduce((sum, { wants }) => sum + wants, 0)
        expect(blocks.size).toBe(present.length)
        expect(blocks.wants).toBeCloseTo(wanted, 6)
        expect(blocks.mass).toBe(present.reduce((sum, { mass }) => sum + mass, 0))
        const capacity = wanted * random()
        const ours = filled(present, blocks.level(capacity))
        const expected = filled(present, levelOf(present, capacity))
        expect(furthest(ours, expected)).toBeLessThanOrEqual(1e-9 * capacity)
        const ratio = random() * 60
        blocks.find(ratio)
        const below = present.filter(({ wants, mass }) => wants / mass <= ratio)
        expect(blocks.foundMass).toBe(below.reduce((sum, { mass }) => sum + mass, 0))
        expect(blocks.foundWants).toBeCloseTo(
          below.reduce((sum, { wants }) => sum + wants, 0),
          6,
        )
      }
    expect([blocks.size, blocks.wants, blocks.mass]).toEqual([0, 0, 0])
  })

  it.each([1, 2, 3])('does so while they stay and change, again and again (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const blocks = new SortedBlocks<Wish>()
    const present = Array.from({ length: 1_000 }, () => new Wish(10 + 90 * random(), 1))
    for (const wish of present) blocks.add(wish, wish.wants, 1)
    for (let round = 0; round < 60; round++) {
      // From time to time all rise together, so that some blocks fill up and others become empty.
      const least = round % 4 === 0 ? 10 * round : 10
      for (const wish of present) {
        wish.wants = least + 90 * random()
        blocks.change(wish, wish.wants, 1)
      }
      const capacity = blocks.wants * random()
      const expected = filled(present, levelOf(present, capacity))
      expect(furthest(filled(present, blocks.level(capacity)), expected)).toBeLessThanOrEqual(1e-9 * capacity)
      const ratios: number[] = []
      blocks.forEach((_, wants) => void ratios.push(wants))
      expect(ratios).toEqual(present.map(({ wants }) => wants).toSorted((x, y) => x - y))
    }
  })

  it('visits entries in the order of wants per mass', () => {
    const blocks = new SortedBlocks<Wish>()
    const random = seededRandom(5)
    for (let i = 0; i < 1_000; i++) {
      const wish = new Wish(random() * 10, 1 + Math.floor(random() * 3))
      blocks.add(wish, wish.wants, wish.mass)
    }
    const ratios: number[] = []
    blocks.forEach((_, wants, mass) => void ratios.push(wants / mass))
    expect(ratios).toHaveLength(1_000)
    expect(ratios).toEqual(ratios.toSorted((x, y) => x - y))
  })

  it('forgets what it was told: sums of fractions come back to exactly what is there', () => {
    const blocks = new SortedBlocks<Wish>()
    const stays = new Wish(0.1, 1)
    blocks.add(stays, 0.1, 1)
    for (const wants of [0.7, 1e18, 0.3]) {
      const goes = new Wish(wants, 1)
      blocks.add(goes, wants, 1)
      blocks.remove(goes)
    }
    expect(blocks.wants).toBe(0.1)
  })
})
