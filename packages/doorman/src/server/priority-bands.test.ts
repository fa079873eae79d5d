import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Bucket } from './child-ledger.js'
import { PriorityBands } from './priority-bands.js'

const SHARES = new Map([
  [0, 0.25],
  [-1, 0.1],
])
const NO_SHARES = new Map<number, number>()

/** Everyone's share, computed from scratch: minimum shares, then band after band, and max-min by filling slowly. */
function expected(
  buckets: readonly Bucket[],
  capacity: number,
  headroom: number,
  shares: ReadonlyMap<number, number>,
): number[] {
  const wanted = buckets.reduce((sum, { wants }) => sum + wants, 0)
  if (wanted <= capacity) {
    const above = wanted > 0 ? Math.min(headroom, (capacity - wanted) / 2 / wanted) : 0
    return buckets.map(({ wants }) => wants * (1 + above))
  }
  const bands = [...new Set(buckets.map(({ priority }) => priority))].toSorted((x, y) => y - x)
  const wants = bands.map((band) => sumOf(buckets.filter(({ priority }) => priority === band)))
  const worth = bands.map((band, i) => Math.min(wants[i]!, (shares.get(band) ?? 0) * capacity))
  let left = capacity - worth.reduce((sum, each) => sum + each, 0)
  for (const i of bands.keys()) {
    const more = Math.min(wants[i]! - worth[i]!, left)
    worth[i]! += more
    left -= more
  }
  return buckets.map((bucket) => {
    const among = buckets.filter(({ priority }) => priority === bucket.priority)
    return fill(among, worth[bands.indexOf(bucket.priority)]!)[among.indexOf(bucket)]!
  })
}

function sumOf(buckets: readonly Bucket[]): number {
  return buckets.reduce((sum, { wants }) => sum + wants, 0)
}

/** Gives equal parts per mass, repeatedly, to those that want more. */
function fill(buckets: readonly Bucket[], capacity: number): number[] {
  const has = buckets.map(() => 0)
  let left = capacity
  for (let hungry = [...buckets.keys()]; hungry.length > 0 && left > 0; ) {
    const mass = hungry.reduce((sum, i) => sum + buckets[i]!.mass, 0)
    const full = hungry.filter((i) => buckets[i]!.wants <= has[i]! + (left / mass) * buckets[i]!.mass)
    if (full.length === 0) {
      for (const i of hungry) has[i]! += (left / mass) * buckets[i]!.mass
      break
    }
    for (const i of full) {
      left -= buckets[i]!.wants - has[i]!
      has[i] = buckets[i]!.wants
    }
    hungry = hungry.filter((i) => !full.includes(i))
  }
  return has
}

const wish = fc.record({
  wants: fc.oneof(
    fc.nat(100),
    fc.double({ min: 0, max: 100, noNaN: true }).filter((x) => x === 0 || x > 1e-6),
  ),
  mass: fc.integer({ min: 1, max: 5 }),
  priority: fc.integer({ min: -1, max: 1 }),
})

describe('PriorityBands', () => {
  it('divide as filling from scratch does, while buckets come, change, go and move between bands', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            slot: fc.nat(9),
            wish: fc.option(wish),
            capacity: fc.integer({ min: 1, max: 400 }),
            headroom: fc.constantFrom(0, 0.1),
            shares: fc.constantFrom(SHARES, NO_SHARES),
          }),
        ),
        (steps) => {
          const bands = new PriorityBands({ minimumShares: SHARES, headroom: 0.1 })
          const slots = new Map<number, Bucket>()
          for (const { slot, wish, capacity, headroom, shares } of steps) {
            bands.govern({ minimumShares: shares, headroom })
            const present = slots.get(slot)
            if (present !== undefined && wish?.priority === present.priority) {
              present.wants = wish.wants
              present.mass = wish.mass
              bands.change(present, wish.wants)
            } else {
              if (present !== undefined) bands.leave(present)
              slots.delete(slot)
              if (wish !== null) {
                const bucket = new Bucket(wish.priority, 1, wish.mass, wish.wants)
                bands.enter(bucket, wish.wants)
                slots.set(slot, bucket)
              }
            }
            const buckets = [...slots.values()]
            const ours = buckets.map((bucket) => bands.target(bucket, capacity))
            for (const [i, each] of expected(buckets, capacity, headroom, shares).entries())
              expect(Math.abs(ours[i]! - each)).toBeLessThanOrEqual(1e-9 * capacity)
            expect(bands.wants).toBeCloseTo(sumOf(buckets), 9)
            expect(bands.subclients).toBe(buckets.length)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it('never give less to a client that wants more, others wanting the same', () => {
    fc.assert(
      fc.property(
        fc.array(wish, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 400 }),
        fc.nat(50),
        (wishes, capacity, more) => {
          const bands = new PriorityBands({ minimumShares: SHARES, headroom: 0.1 })
          const buckets = wishes.map(({ priority, mass, wants }) => new Bucket(priority, 1, mass, wants))
          for (const bucket of buckets) bands.enter(bucket, bucket.wants)
          const [first] = buckets
          const before = Math.min(first!.wants, bands.target(first!, capacity))
          bands.change(first!, first!.wants + more)
          expect(bands.target(first!, capacity)).toBeGreaterThanOrEqual(before - 1e-9 * capacity)
        },
      ),
    )
  })

  it('drop empty bands, however many priorities there were', () => {
    const bands = new PriorityBands({ minimumShares: NO_SHARES, headroom: 0 })
    for (let priority = 0; priority < 1_000; priority++) {
      const bucket = new Bucket(priority, 1, 1, 5)
      bands.enter(bucket, 5)
      bands.leave(bucket)
    }
    expect(bands.all.length).toBeLessThan(10)
  })
})
