import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ranking } from './ordered-sums.js'

/** Many equal keys, so that ties meet at the borders of blocks. */
const key = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 50 }))
const step = fc.tuple(fc.nat(400), key, fc.nat(20), fc.nat(20))

describe.each(['sum', 'least'] as const)('a ranking by %s', (kind) => {
  it('answers as a list would, whatever comes and goes', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 600, size: 'max' }),
        fc.array(fc.tuple(key, fc.nat(21)), { minLength: 1, maxLength: 5 }),
        fc.nat(600),
        (steps, questions, clearAt) => {
          const ranking = new Ranking(kind)
          const list = new Map<number, { key: number; x: number; y: number }>()
          const check = (at: number, most: number, except: number): void => {
            const all = [...list].map(([slot, entry]) => ({ slot, ...entry }))
            if (kind === 'sum') {
              ranking.sumBelow(at)
              const below = all.filter((entry) => entry.key < at)
              expect(ranking.x).toBe(below.reduce((sum, { x }) => sum + x, 0))
              expect(ranking.y).toBe(below.reduce((sum, { y }) => sum + y, 0))
              expect(ranking.below).toBe(Math.max(...below.map((entry) => entry.key)))
              expect(ranking.above).toBe(Math.min(...all.map((entry) => entry.key).filter((other) => other >= at)))
            } else {
              const open = all.filter(({ slot, x }) => x <= most && slot !== except)
              expect(ranking.firstKey(most, except)).toBe(Math.min(...open.map((entry) => entry.key)))
              ranking.sumBelow(at)
              const below = all.filter((entry) => entry.key < at)
              expect(ranking.y).toBe(below.reduce((sum, { y }) => sum + y, 0))
              expect(ranking.x).toBe(Math.min(...below.map(({ x }) => x)))
              expect(ranking.z).toBe(below.reduce((sum, { key, x, y }) => sum + key * y - x, 0))
            }
          }
          for (const [i, [slot, at, x, y]] of steps.entries()) {
            if (i === clearAt) {
              ranking.clear()
              list.clear()
            }
            expect(ranking.has(slot)).toBe(list.has(slot))
            if (list.has(slot)) {
              ranking.remove(slot)
              list.delete(slot)
              // Usually reinserted, with another key: the change of a tenant that spends.
              if (x > 0) {
                ranking.insert(slot, at, x, y)
                list.set(slot, { key: at, x, y })
              }
            } else {
              ranking.insert(slot, at, x, y)
              list.set(slot, { key: at, x, y })
            }
            if (i % 16 === 0) for (const [where, most] of questions) check(where, most, slot)
          }
          for (const [where, most] of questions) check(where, most, steps[0]![0])
          for (const slot of [...list.keys()]) {
            ranking.remove(slot)
            list.delete(slot)
            if (slot % 8 === 0) for (const [where, most] of questions) check(where, most, slot)
          }
          for (const [where, most] of questions) check(where, most, -1)
        },
      ),
      propertyRuns(0.1),
    )
  })

  it('keeps many slots in many blocks', () => {
    const ranking = new Ranking(kind)
    const count = 5_000
    for (let slot = 0; slot < count; slot++) ranking.insert(slot, (slot * 7919) % count, slot % 2, 1)
    ranking.sumBelow(count / 2)
    if (kind === 'sum') expect(ranking.y).toBe(count / 2)
    for (let slot = 0; slot < count; slot++) if ((slot * 7919) % count < 3_000) ranking.remove(slot)
    ranking.sumBelow(count)
    if (kind === 'sum') expect(ranking.y).toBe(2_000)
    else expect(ranking.firstKey(1, -1)).toBe(3_000)
  })
})
