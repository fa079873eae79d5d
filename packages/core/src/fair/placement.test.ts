import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { FlowKey, IndependentPlacement } from './placement.js'

describe('the independent placement', () => {
  const flows = Array.from({ length: 200_000 }, (_, i) => `tenant-${i}`)

  it('fills every bucket of every level evenly, in both structures', () => {
    const [levels, buckets] = [3, 100]
    const placement = new IndependentPlacement(levels, buckets, seededRandom(1))
    const live = Array.from({ length: levels }, () => new Float64Array(buckets))
    const shadow = Array.from({ length: levels }, () => new Float64Array(buckets))
    for (const flow of flows) {
      const places = placesOf(placement, flow, levels)
      for (let level = 0; level < levels; level++) {
        live[level]![places.live[level]!]!++
        shadow[level]![places.shadow[level]!]!++
      }
    }
    // 99 degrees of freedom: above 160 has a chance of 1e-4.
    for (const counts of [...live, ...shadow]) expect(chiSquare(counts, flows.length / buckets)).toBeLessThan(160)
  })

  it.each([
    ['neighbouring names', (i: number) => `tenant-${i}`],
    ['long names that differ in one place', (i: number) => `${'x'.repeat(40)}${i}${'y'.repeat(40)}`],
    ['addresses', (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`],
  ])('shares all levels as rarely as independent hashes would: %s', (_, name) => {
    const [levels, buckets, count] = [3, 64, 60_000]
    const placement = new IndependentPlacement(levels, buckets, seededRandom(2))
    const seen = new Map<number, number>()
    let pairs = 0
    for (let i = 0; i < count; i++) {
      const [x, y, z] = placesOf(placement, name(i), levels).live as [number, number, number]
      const place = (x * buckets + y) * buckets + z
      const before = seen.get(place) ?? 0
      pairs += before
      seen.set(place, before + 1)
    }
    const expected = (count * (count - 1)) / 2 / buckets ** levels
    expect(pairs / expected).toBeGreaterThan(0.9)
    expect(pairs / expected).toBeLessThan(1.1)
  })

  it('places flows of the two structures independently, and anew after a rotation', () => {
    const placement = new IndependentPlacement(1, 1000, seededRandom(3))
    const before = flows.slice(0, 20_000).map((flow) => placesOf(placement, flow, 1))
    expect(before.filter(({ live, shadow }) => live[0] === shadow[0]).length).toBeLessThan(50)
    placement.rotate()
    const after = flows.slice(0, 20_000).map((flow) => placesOf(placement, flow, 1))
    expect(after.map(({ live }) => live)).toEqual(before.map(({ shadow }) => shadow))
    for (const old of ['live', 'shadow'] as const)
      expect(after.filter(({ shadow }, i) => shadow[0] === before[i]![old][0]).length).toBeLessThan(50)
  })

  it('asks nothing of chance before the first flow', () => {
    let draws = 0
    const placement = new IndependentPlacement(2, 10, () => {
      draws++
      return 0.5
    })
    placement.rotate()
    expect(draws).toBe(0)
    placesOf(placement, 'acme', 2)
    expect(draws).toBeGreaterThan(0)
  })

  it('keeps a name apart from one that was made to be its twin under every seed of murmur3', () => {
    const twin = 'tena\u{cf63}\u{6164}\u{e70a}\u{413}c\u{5480}e-production'
    for (let seed = 0; seed < 1000; seed++)
      expect(hashOf(placementOf(seed), twin)).not.toBe(hashOf(placementOf(seed), 'tenant-acme-production'))
  })

  it('gives the pairs that collide under a key of the attacker no more in common under the secret one', () => {
    // Full 64-bit collisions are out of reach: of 20 bits, which a birthday search finds by the hundred.
    const mask = (1n << 20n) - 1n
    const guess = placementOf(1)
    const seen = new Map<bigint, string>()
    const pairs: [string, string][] = []
    for (let i = 0; i < 30_000; i++) {
      const name = `tenant-${i}`
      const hash = hashOf(guess, name) & mask
      const other = seen.get(hash)
      if (other === undefined) seen.set(hash, name)
      else pairs.push([other, name])
    }
    expect(pairs.length).toBeGreaterThan(300)
    const secret = placementOf(2)
    const shared = pairs.filter(([x, y]) => (hashOf(secret, x) & mask) === (hashOf(secret, y) & mask))
    expect(shared).toEqual([])
  })

  it('spreads each small change of two neighbouring blocks over the hash, so that no two cancel', () => {
    // The attack on murmur3: a change of a few bits in one block that a change in the next one cancels, for any seed.
    const base = 'tenant-acme-production'
    for (let key = 0; key < 4; key++) {
      const placement = placementOf(key)
      const hashes = new Set<bigint>()
      let changes = 0
      for (let first = 0; first < 32; first++)
        for (let next = -1; next < 32; next++, changes++) {
          const units = [...base].map((unit) => unit.charCodeAt(0))
          units[4 + (first >> 4)]! ^= 1 << (first & 15)
          if (next >= 0) units[6 + (next >> 4)]! ^= 1 << (next & 15)
          hashes.add(hashOf(placement, String.fromCharCode(...units)))
        }
      expect(hashes.size).toBe(changes)
    }
  })

  it('keeps inside the level at any number of buckets', () => {
    for (const buckets of [1, 2, 3, 1000, 2 ** 20 + 7]) {
      const placement = new IndependentPlacement(2, buckets, seededRandom(buckets))
      for (const flow of flows.slice(0, 2000))
        for (const place of placesOf(placement, flow, 2).live) {
          expect(place).toBeGreaterThanOrEqual(0)
          expect(place).toBeLessThan(buckets)
        }
    }
  })
})

function placementOf(seed: number): IndependentPlacement {
  return new IndependentPlacement(1, 1000, seededRandom(seed))
}

/** The 64 bits behind all places of a flow. */
function hashOf(placement: IndependentPlacement, flow: string): bigint {
  const key = new FlowKey(flow)
  placement.digest(key)
  return (BigInt(key.a >>> 0) << 32n) | BigInt(key.b >>> 0)
}

function placesOf(placement: IndependentPlacement, flow: string, levels = 3): { live: number[]; shadow: number[] } {
  const key = new FlowKey(flow)
  placement.digest(key)
  const live = new Int32Array(levels)
  const shadow = new Int32Array(levels)
  placement.place(key, 'live', live)
  placement.place(key, 'shadow', shadow)
  return { live: [...live], shadow: [...shadow] }
}

function chiSquare(counts: Float64Array, expected: number): number {
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}
