import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { FlowKey, IndependentPlacement } from '../placement.js'
import { TagSketch } from './flows.js'

/** Quiet flows in the test of collisions; `pnpm test:deep` takes ten million. */
const PROBES = Number(process.env['FAIRLEAD_COLLISION_FLOWS'] ?? 200_000)

const LEVELS = 3
const CELLS = 8

/** Few cells, so that flows always share them. */
function placesOf(seed: number, flows: number): Int32Array[] {
  const placement = new IndependentPlacement(LEVELS, CELLS, seededRandom(seed))
  return Array.from({ length: flows }, (_, i) => {
    const key = new FlowKey(`flow-${i}`)
    placement.digest(key)
    const places = new Int32Array(LEVELS)
    placement.place(key, 'live', places)
    return places
  })
}

const charges = fc.array(fc.record({ flow: fc.nat(19), cost: fc.integer({ min: 1, max: 9 }) }), { maxLength: 100 })

describe('TagSketch', () => {
  it('never lowers any flow by a charge, and never holds one below what it was charged', () => {
    fc.assert(
      fc.property(charges, fc.nat(), (steps, seed) => {
        const sketch = new TagSketch(LEVELS, CELLS)
        const places = placesOf(seed, 20)
        const exact = places.map(() => 0)
        for (const { flow, cost } of steps) {
          const before = places.map((place) => sketch.read(place))
          const tag = before[flow]! + cost
          sketch.raise(places[flow]!, tag)
          exact[flow]! += cost
          expect(sketch.read(places[flow]!)).toBe(tag)
          for (const [i, place] of places.entries()) {
            expect(sketch.read(place)).toBeGreaterThanOrEqual(before[i]!)
            expect(sketch.read(place)).toBeGreaterThanOrEqual(exact[i]!)
          }
        }
      }),
    )
  })

  it('gives the highest of those that share a cell, not their sum', () => {
    const sketch = new TagSketch(1, 1)
    const place = Int32Array.of(0)
    for (let flow = 0; flow < 100; flow++) sketch.raise(place, 3)
    expect(sketch.read(place)).toBe(3)
  })

  it('takes back what was charged, but not from cells that another has raised further, and never below 0', () => {
    const sketch = new TagSketch(2, 4)
    const [one, other] = [Int32Array.of(0, 1), Int32Array.of(0, 2)]
    sketch.raise(one, 2)
    sketch.raise(other, 5)
    sketch.lower(one, 1)
    expect(sketch.read(one)).toBe(1)
    expect(sketch.read(other)).toBe(5)
    sketch.lower(one, 7)
    expect(sketch.read(one)).toBe(0)
    sketch.clear()
    expect(sketch.read(other)).toBe(0)
  })

  it('takes a quiet flow for a loud one as rarely as independent hashes would', () => {
    const [levels, cells, loud] = [4, 4096, 1_000]
    const placement = new IndependentPlacement(levels, cells, seededRandom(7))
    const sketch = new TagSketch(levels, cells)
    const places = new Int32Array(levels)
    const key = new FlowKey('')
    const place = (flow: string): Int32Array => {
      key.flow = flow
      placement.digest(key)
      placement.place(key, 'live', places)
      return places
    }
    for (let i = 0; i < loud; i++) sketch.raise(place(`loud-${i}`), 1)
    let caught = 0
    for (let i = 0; i < PROBES; i++) if (sketch.read(place(`quiet-${i}`)) > 0) caught++
    // The loud ones take a random number of cells on each level: within twice the expected number.
    const expected = (1 - (1 - 1 / cells) ** loud) ** levels
    expect(caught / PROBES / expected).toBeGreaterThan(0.5)
    expect(caught / PROBES / expected).toBeLessThan(2)
  })
})
