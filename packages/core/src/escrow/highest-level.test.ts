import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { highestLevel, type LevelledClaims } from './claims.js'

/** Claims on shares of a level, as plainly as may be; counts how often they are asked for. */
class PlainClaims implements LevelledClaims {
  slope = 0
  asked = 0
  readonly #tenants: readonly { weight: number; passed: number }[]

  constructor(tenants: readonly { weight: number; passed: number }[]) {
    this.#tenants = tenants
  }

  total(level: number, tau: number): number {
    this.asked++
    this.slope = 0
    let sum = 0
    for (const { weight, passed } of this.#tenants) {
      const guarantee = weight * level
      if (guarantee <= passed) continue
      sum += guarantee - Math.max(passed, guarantee * tau)
      this.slope += guarantee * tau > passed ? weight * (1 - tau) : weight
    }
    return sum
  }
}

const share = fc.double({ min: 0, max: 1, noNaN: true })
const tenants = fc.array(
  fc.record({ weight: fc.integer({ min: 1, max: 5 }), passed: fc.integer({ min: 0, max: 50 }) }),
  {
    minLength: 1,
  },
)

describe('the highest level', () => {
  it('is one at which all fits, and above which it does not, wherever the search begins', () => {
    fc.assert(
      fc.property(tenants, share, share, share, fc.nat(3), fc.nat(50), (all, start, tau, part, newcomer, carried) => {
        const claims = new PlainClaims(all)
        // A newcomer of no weight carries nothing.
        const own = new PlainClaims(newcomer > 0 ? [{ weight: newcomer, passed: carried }] : [])
        const ceiling = 40
        const atMost = tau / 2
        const sum = (level: number): number => claims.total(level, atMost) + own.total(level, atMost)
        const room = part * 1.2 * sum(ceiling)
        const slack = 1e-6
        const has = newcomer > 0 ? carried : 0
        const level = highestLevel(claims, start * ceiling, ceiling, atMost, room, newcomer, has, slack)
        const over = (at: number): number => sum(at) - room
        expect(over(level)).toBeLessThanOrEqual(slack * 1.001)
        if (level < ceiling) expect(over(level + 1e-5)).toBeGreaterThan(-slack)
        else expect(level).toBe(ceiling)
      }),
      propertyRuns(),
    )
  })

  it('is found in a few steps, and at once where nothing has changed', () => {
    const claims = new PlainClaims(Array.from({ length: 100 }, (_, i) => ({ weight: 1 + (i % 3), passed: i })))
    const stepsTo = (room: number, from: number): number => {
      claims.asked = 0
      highestLevel(claims, from, 100, 0.25, room, 0, 0, 1e-9)
      return claims.asked
    }
    const all = claims.total(100, 0.25)
    expect(stepsTo(all, 100)).toBe(1)
    expect(stepsTo(all, 99)).toBeLessThanOrEqual(3)
    expect(stepsTo(all / 2, 100)).toBeLessThanOrEqual(12)
    expect(stepsTo(claims.total(60, 0.25), 60)).toBe(1)
  })
})
