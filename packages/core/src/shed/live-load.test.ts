import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { LiveLoad } from './live-load.js'

/** Requests come and go; the test ends each collection. */
function heap(base: number) {
  const live = new LiveLoad()
  const sizes: number[] = []
  return {
    live,
    come(...more: number[]): void {
      for (const size of more) {
        sizes.push(size)
        live.pass()
      }
    },
    go(count = 1): void {
      for (let i = 0; i < count; i++) {
        sizes.shift()
        live.pass()
      }
    },
    collect(garbage = 0): void {
      live.sample(held() + garbage, sizes.length)
    },
    load: (most = 1, used = Number.POSITIVE_INFINITY): number => live.load(sizes.length, most, used),
    held,
    count: () => sizes.length,
  }
  function held(): number {
    return base + sizes.reduce((sum, size) => sum + size, 0)
  }
}

const even = (count: number): number[] => Array.from({ length: count }, () => 0.02)

describe('LiveLoad', () => {
  it('learns what a request holds, and predicts what is live', () => {
    const { live, come, go, collect, load, held } = heap(0.1)
    for (let i = 0; i < 10; i++) {
      come(...even(3))
      go(i % 2)
      collect()
    }
    expect(live.held).toBeCloseTo(0.02, 9)
    come(...even(7))
    expect(load()).toBeCloseTo(held(), 6)
    go(25)
    expect(load()).toBeCloseTo(held(), 6)
  })

  it('says what requests beyond the usual number hold at least, once it has seen some collections', () => {
    const { live, come, go, collect } = heap(0.1)
    for (let i = 0; i < 3; i++) {
      expect(live.least(1_000, 1)).toBe(0)
      come(...even(10))
      collect()
      go(5)
    }
    // 10, 15 and 20 ran, about 15 in the mean.
    expect(live.least(14, 1)).toBe(0)
    expect(live.least(40, 1)).toBeCloseTo(0.1 + 40 * 0.02, 9)
    expect(live.least(40, 1, 0.03)).toBeGreaterThan(0.1 + 40 * 0.02)
  })

  it('does not believe that memory which nothing uses now is still there', () => {
    const { live, come, collect } = heap(0.8)
    for (let i = 0; i < 3; i++) {
      come(...even(1))
      collect()
    }
    // The service has dropped 0.7 since, and 0.02 of what is left may be all that the service itself has.
    expect(live.least(10, 0.1)).toBeCloseTo(0.1 + 10 * 0.02, 9)
    expect(live.load(10, 0.02, 0.1)).toBeCloseTo(0.1 + 10 * 0.02, 9)
  })

  it('counts arrivals at the amount they add to memory in use, until more is known', () => {
    const { come, collect, load } = heap(0.1)
    collect()
    come(...even(4))
    expect(load(0.05)).toBeCloseTo(0.1 + 4 * 0.05, 9)
  })

  it('is never more than what is in use, however uncertain sizes are', () => {
    const { come, go, collect, load, count } = heap(0.1)
    const random = seededRandom(3)
    for (let i = 0; i < 20; i++) {
      come(...even(10))
      collect(0.5 * random())
      go(10)
    }
    go(count())
    come(...even(2))
    expect(load()).toBeGreaterThan(0.3)
    expect(load(1, 0.3)).toBeLessThanOrEqual(0.3)
  })

  it('does not take garbage that a collection left for held, if one of the last left none', () => {
    const { go, come, collect, load, held } = heap(0.1)
    for (let i = 0; i < 12; i++) {
      come(...even(2))
      collect()
    }
    for (let i = 0; i < 3; i++) {
      come(...even(2))
      go(2)
      collect(0.15)
    }
    expect(load()).toBeLessThan(held() + 0.15)
    for (let i = 0; i < 3; i++) collect(0.15)
    expect(load()).toBeGreaterThanOrEqual(held() + 0.15)
  })

  it('follows what the service keeps for itself, up and down', () => {
    let base = 0.1
    const live = new LiveLoad()
    for (let i = 0; i < 20; i++) live.sample(base + 0.02 * (5 + (i % 5)), 5 + (i % 5))
    base = 0.4
    for (let i = 0; i < 4; i++) live.sample(base + 0.02 * 5, 5)
    expect(live.load(5, 1, Number.POSITIVE_INFINITY)).toBeGreaterThan(0.49)
    base = 0.1
    for (let i = 0; i < 4; i++) live.sample(base + 0.02 * 5, 5)
    expect(live.load(5, 1, Number.POSITIVE_INFINITY)).toBeLessThan(0.35)
  })

  it('expects of those who have just come what others turned out to hold', () => {
    const live = new LiveLoad()
    for (let i = 0; i < 40; i++) {
      const inFlight = 5 + (i % 10)
      live.sample(0.1 + 0.02 * inFlight, inFlight)
    }
    // Thirty requests are admitted, and hold nothing yet.
    for (let i = 0; i < 30; i++) live.pass()
    live.sample(0.1 + 0.02 * 10, 40)
    expect(live.load(40, 1, Number.POSITIVE_INFINITY)).toBeGreaterThan(0.45)
  })

  it.each([0.5, 1, 1.5])('is hardly ever below what is held, where sizes are lognormal of sigma %d', (sigma) => {
    const { come, go, collect, load, held, count } = heap(0.2)
    const random = seededRandom(7)
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const size = (): number => 0.005 * Math.exp(sigma * normal() - sigma ** 2 / 2)
    let below = 0
    for (let i = 0; i < 4_000; i++) {
      come(...Array.from({ length: Math.floor(random() * 12) }, size))
      go(Math.min(count(), Math.floor(random() * 12)))
      if (random() < 0.3) collect()
      if (i > 100 && load() < held() - 1e-9) below++
    }
    expect(below / 4_000).toBeLessThan(0.05)
  })

  it('is always a number, and never below 0', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('come' as const), count: fc.nat(30) }),
      fc.record({ kind: fc.constant('go' as const), count: fc.nat(30) }),
      fc.record({ kind: fc.constant('collect' as const), count: fc.double({ min: 0, max: 2, noNaN: true }) }),
    )
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const live = new LiveLoad()
        live.sample(0.1, 0)
        let inFlight = 0
        for (const { kind, count } of steps) {
          if (kind === 'collect') live.sample(count, inFlight)
          for (let i = 0; kind === 'come' && i < count; i++, inFlight++) live.pass()
          for (let i = 0; kind === 'go' && i < count && inFlight > 0; i++, inFlight--) live.pass()
          expect(live.load(inFlight, 0.1, Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(0)
          expect(live.load(inFlight, 0.1, Number.POSITIVE_INFINITY)).toBeLessThan(1e6)
        }
      }),
    )
  })
})
