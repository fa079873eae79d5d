import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import type { EscrowOptions } from './options.js'

const WINDOW_MS = 1000

/** An escrow of 1000 a second; a name of letters that ends in a digit has that weight. */
function escrowOf(options: Partial<EscrowOptions> = {}) {
  const clock = manualClock(60_000)
  const weightOf = (tenant: string): number => Number(/^[a-z]+([1-9])$/.exec(tenant)?.[1] ?? 1)
  const escrow = new WeightedFairEscrow({ limit: 1000, windowMs: WINDOW_MS, weightOf, clock, ...options })
  return { clock, escrow, used: (tenant: string) => usedBy(escrow, tenant) }
}

function usedBy(escrow: WeightedFairEscrow, tenant: string): number {
  return escrow.snapshot().heaviest.find((entry) => entry.tenant === tenant)?.used ?? 0
}

/** Asks for `cost` until it is refused; returns the refusal. */
function drain(escrow: WeightedFairEscrow, tenant: string, cost = 1): EscrowDecision {
  for (;;) {
    const decision = escrow.check(tenant, cost)
    if (!decision.allowed) return decision
  }
}

describe('a check', () => {
  it('says what it decided, and why', () => {
    const { escrow } = escrowOf()
    escrow.check('b', 1)
    expect({ ...escrow.check('a', 400) }).toEqual({
      allowed: true,
      tenant: 'a',
      cost: 400,
      reason: undefined,
      borrowed: false,
      limit: 500,
      remaining: 100,
      guarantee: 500,
      retryAfterMs: 0,
      resetAtMs: 61_000,
      resetAfterMs: 1000,
    })
    expect(escrow.check('a', 200)).toMatchObject({ allowed: false, reason: 'over-share', limit: 500, remaining: 100 })
  })

  it('admits as much as remains, if that is asked next', () => {
    const { escrow, clock } = escrowOf()
    for (const tenant of ['a', 'b', 'c4']) escrow.check(tenant, 10)
    clock.advance(300)
    for (const tenant of ['a', 'c4', 'a', 'b']) {
      const { remaining } = escrow.check(tenant, 60)
      expect(escrow.peek(tenant, remaining).allowed).toBe(true)
    }
  })

  it('refuses a cost above the limit for good, and changes nothing by that', () => {
    const { escrow } = escrowOf()
    escrow.check('a', 1)
    const before = escrow.snapshot()
    expect(escrow.check('a', 1001)).toMatchObject({
      allowed: false,
      reason: 'never',
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    expect(escrow.snapshot()).toEqual({ ...before, refused: 1 })
  })

  it('refuses what is more than there is left', () => {
    const { escrow } = escrowOf()
    escrow.check('a', 900)
    expect(escrow.check('a', 101)).toMatchObject({ allowed: false, reason: 'exhausted', retryAfterMs: 50 })
    escrow.check('a', 100)
    expect(escrow.check('a', 1)).toMatchObject({ allowed: false, reason: 'exhausted', retryAfterMs: 1000 })
  })

  it('lends what is nobody’s, and says so', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('a', 1)
    escrow.check('b', 1)
    expect(drain(escrow, 'a').limit).toBe(500)
    clock.advance(200)
    expect(escrow.check('a', 100).allowed).toBe(false)
    expect(escrow.check('a', 99)).toMatchObject({ allowed: true, borrowed: true })
  })

  it('takes fractions', () => {
    const { escrow } = escrowOf({ limit: 0.3 })
    for (let i = 0; i < 3; i++) expect(escrow.check('a', 0.1).allowed).toBe(true)
    expect(escrow.check('a', 1e-12).allowed).toBe(false)
  })
})

describe('peek', () => {
  it('changes nothing: no tenant, no wait, no weight', () => {
    const weights: Record<string, number> = {}
    const { escrow } = escrowOf({ weightOf: (tenant) => weights[tenant] ?? 1 })
    escrow.check('a', 600)
    escrow.check('b', 1)
    const before = escrow.snapshot()
    weights['a'] = 5
    expect(escrow.peek('a', 300)).toMatchObject({ allowed: false })
    expect(escrow.peek('a', 100).allowed).toBe(true)
    expect(escrow.peek('a', 100).guarantee).toBeCloseTo((1000 * 5) / 6)
    expect(escrow.peek('c', 100).allowed).toBe(true)
    expect(escrow.snapshot()).toEqual(before)
  })

  it('rolls the window first', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('a', 1000)
    clock.advance(WINDOW_MS)
    // Half of the new one is kept for the other, which asked in the last one.
    expect(escrow.peek('b', 501)).toMatchObject({ allowed: false, resetAtMs: 62_000 })
    expect(escrow.peek('b', 500)).toMatchObject({ allowed: true, resetAtMs: 62_000 })
    expect(escrow.snapshot()).toMatchObject({ used: 0, tenants: 1, resetAtMs: 62_000 })
  })
})

describe('the level', () => {
  it('compares the whole cost, not its excess over the guarantee, with what is free', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    escrow.check('b', 1)
    expect(escrow.check('a', 999).allowed).toBe(false)
    expect(escrow.check('a', 501)).toMatchObject({ allowed: false, reason: 'over-share' })
    expect(escrow.check('a', 500).allowed).toBe(true)
    expect(escrow.peek('b', 499).allowed).toBe(true)
  })

  it('knows no floors: shares below 1 are shares', () => {
    const { escrow } = escrowOf({ limit: 1, reserve: 'strict' })
    for (const tenant of ['a', 'b', 'c']) expect(escrow.check(tenant, 0.25).allowed).toBe(true)
    expect(escrow.check('a', 0.1)).toMatchObject({ allowed: false, guarantee: 1 / 3 })
    expect(escrow.check('a', 1 / 3 - 0.25).allowed).toBe(true)
  })

  it('asks weightOf at every check, and a change counts from then on', () => {
    let weight = 1
    const { escrow } = escrowOf({ weightOf: (tenant) => (tenant === 'a' ? weight : 1), reserve: 'strict' })
    escrow.check('b', 1)
    expect(escrow.check('a', 1).guarantee).toBe(500)
    weight = 3
    expect(escrow.peek('b', 1).guarantee).toBe(500)
    expect(escrow.check('a', 1).guarantee).toBe(750)
    expect(escrow.peek('b', 1).guarantee).toBe(250)
  })

  it('counts the weights there are, whatever there was before', () => {
    let heavy = 1e12
    const weightOf = (tenant: string): number => (tenant === 'heavy' ? heavy : 1e-9)
    const { escrow } = escrowOf({ limit: 300, weightOf, reserve: 'strict' })
    for (const tenant of ['a', 'b', 'heavy']) escrow.check(tenant, 1e-9)
    expect(escrow.peek('heavy', 1).guarantee).toBeCloseTo(300, 6)
    heavy = 1e-9
    expect(escrow.check('heavy', 1).guarantee).toBeCloseTo(100, 9)
    expect(escrow.snapshot().weight).toBeCloseTo(3e-9, 20)
    expect(escrow.check('a', 150)).toMatchObject({ allowed: false, reason: 'over-share' })
    expect(escrow.check('b', 99)).toMatchObject({ allowed: true, borrowed: false })
  })

  it('tells a newcomer that asked for too much what it could have', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    escrow.check('a', 800)
    expect(escrow.check('b', 201).remaining).toBe(200)
    const { remaining } = escrow.check('c3', 199.5)
    expect(escrow.peek('c3', remaining).allowed).toBe(true)
  })

  it('leaves no trace of a newcomer that was refused', () => {
    const { escrow } = escrowOf()
    escrow.check('a', 999)
    const before = escrow.snapshot()
    for (let i = 0; i < 50; i++) expect(escrow.check(`probe-${i}`, 500).allowed).toBe(false)
    expect(escrow.snapshot()).toEqual({ ...before, refused: 50 })
  })
})

describe('T1: never more than the limit', () => {
  it('when the clock is set back, time goes on from there, and the window stays', () => {
    const { escrow, clock } = escrowOf()
    clock.advance(500)
    escrow.check('a', 1000)
    clock.advance(-40_000)
    expect(escrow.check('a', 1)).toMatchObject({ allowed: false, resetAtMs: 61_000 })
    clock.advance(499)
    expect(escrow.check('a', 1).allowed).toBe(false)
    clock.advance(1)
    expect(escrow.check('a', 1)).toMatchObject({ allowed: true, resetAtMs: 62_000 })
  })

  it('when the clock leaps ahead, the window of then starts', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('a', 1000)
    clock.advance(1e9 + 250)
    expect(escrow.check('a', 1000)).toMatchObject({ allowed: true, resetAtMs: 60_000 + 1e9 + WINDOW_MS })
  })

  it('when names are invented: all beyond maxTenants share one, of weight 1', () => {
    const { escrow, used } = escrowOf({ limit: 100, maxTenants: 4, reserve: 'strict' })
    for (const tenant of ['a4', 'b4', 'c4']) escrow.check(tenant, 1)
    for (let i = 0; i < 5000; i++) escrow.check(`invented-${i}`, 1)
    expect(escrow.snapshot()).toMatchObject({ tenants: 4, weight: 13 })
    expect(used('')).toBe(7)
    expect(escrow.peek('b4', 29).allowed).toBe(true)
    expect(escrow.snapshot().used).toBe(10)
  })

  it('with maxTenants of 1, everybody shares', () => {
    const { escrow } = escrowOf({ limit: 10, maxTenants: 1 })
    for (let i = 0; i < 20; i++) escrow.check(`t${i}`, 1)
    expect(escrow.snapshot()).toMatchObject({ tenants: 1, weight: 1, used: 10 })
  })
})

describe('T2: what is left of a guarantee', () => {
  it('strict: stays until the window ends, whatever others do', () => {
    const { escrow, clock } = escrowOf({ reserve: 'strict' })
    escrow.check('quiet4', 1)
    clock.advance(100)
    for (let i = 0; i < 90; i++) {
      clock.advance(9.9)
      drain(escrow, 'loud', 7)
    }
    expect(clock()).toBeCloseTo(60_991)
    expect(escrow.check('quiet4', 799).allowed).toBe(true)
  })

  it('paced: for a tenant that was silent until t, is at least g·(1 − t/T)', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('quiet4', 1)
    for (const t of [0, 250, 500, 750]) {
      clock.advance(60_000 + t - clock())
      drain(escrow, 'loud', 3)
      expect(escrow.peek('quiet4', 800 * (1 - t / 1000) - 1).allowed).toBe(true)
    }
    expect(escrow.peek('quiet4', 800 * 0.25 + 5).allowed).toBe(false)
  })

  it('paced: is all of g − v for a tenant that keeps pace', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('even', 1)
    for (let t = 2; t < 1000; t += 2) {
      clock.advance(2)
      drain(escrow, 'loud', 3)
      expect(escrow.check('even', 1).allowed).toBe(true)
    }
  })

  it('ends above g − q for a tenant that keeps asking for calls of up to q', () => {
    for (const reserve of ['strict', 'paced'] as const) {
      const { escrow, clock, used } = escrowOf({ reserve })
      for (const tenant of ['a', 'b2', 'c4']) escrow.check(tenant, 10)
      for (let t = 0; t < 1000; t += 10) {
        for (const [tenant, cost] of [
          ['a', 40],
          ['b2', 90],
          ['c4', 70],
        ] as const)
          drain(escrow, tenant, cost)
        clock.advance(9.99)
      }
      expect(used('a')).toBeGreaterThan(1000 / 7 - 40)
      expect(used('b2')).toBeGreaterThan(2000 / 7 - 90)
      expect(used('c4')).toBeGreaterThan(4000 / 7 - 70)
    }
  })

  it('is not given away by asking for more than all of it', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    escrow.check('a', 1)
    escrow.check('b', 1)
    expect(escrow.check('a', 900).allowed).toBe(false)
    drain(escrow, 'b')
    expect(escrow.peek('a', 499).allowed).toBe(true)
  })

  it('is lent while its owner asks for what it would have covered whole, and comes back as far as it is free', () => {
    const { escrow, clock } = escrowOf({ reserve: 'strict' })
    escrow.check('a', 300)
    escrow.check('b', 500)
    expect(escrow.check('a', 300)).toMatchObject({ allowed: false, reason: 'exhausted' })
    expect(escrow.check('b', 150)).toMatchObject({ allowed: true, borrowed: true })
    clock.advance(99)
    expect(escrow.snapshot().reserved).toBe(0)
    clock.advance(1)
    expect(escrow.snapshot().reserved).toBe(50)
    expect(escrow.check('b', 1).allowed).toBe(false)
    expect(escrow.check('a', 50)).toMatchObject({ allowed: true, borrowed: false })
  })
})

describe('late arrivals', () => {
  /** Four tenants ask evenly, and in the middle one of weight 4 comes. */
  function late(reserve: 'strict' | 'paced') {
    const all = escrowOf({ reserve })
    for (let t = 0; t < 500; t++) {
      if (t % 4 === 0) for (const tenant of ['a', 'b', 'c', 'd']) all.escrow.check(tenant, 1)
      all.clock.advance(1)
    }
    return all
  }

  it('strict: claim all that their weight would have given them, as far as it is left', () => {
    const { escrow } = late('strict')
    expect(escrow.check('late4', 1)).toMatchObject({ allowed: true, guarantee: 500, remaining: 499 })
  })

  it('paced: claim as much of it as of the window is left, and borrow in turn', () => {
    const { escrow, clock, used } = late('paced')
    expect(escrow.check('late4', 1)).toMatchObject({ allowed: true, guarantee: 500, remaining: 249 })
    for (let t = 0; t < 500; t++) {
      for (const tenant of ['a', 'b', 'c', 'd', 'late4']) drain(escrow, tenant)
      clock.advance(0.999)
    }
    expect(used('late4')).toBeGreaterThanOrEqual(250)
    expect(escrow.snapshot().used).toBe(1000)
  })

  it('are promised nothing of what is gone', () => {
    const { escrow } = escrowOf()
    escrow.check('early', 1000)
    const refusal = escrow.check('late4', 1)
    expect(refusal).toMatchObject({ allowed: false, reason: 'exhausted' })
    expect(refusal.guarantee).toBeCloseTo(0)
  })
})

describe('a guarantee', () => {
  it('is admitted whole, whatever rounding makes of it', () => {
    const { escrow } = escrowOf({ limit: 7.979736003323428, weightOf: () => 0.16425198078478684 })
    expect(escrow.check('a', escrow.peek('a', 1).guarantee).reason).toBeUndefined()
  })
})

describe('whose turn it is', () => {
  it('counts tenants that wait for all that is left, also when that is no exact number', () => {
    const weightOf = (tenant: string): number => (tenant === 'five' ? 5 : 3)
    const { escrow, used } = escrowOf({ limit: 10, reserve: 'strict', weightOf })
    for (let i = 0; i < 5; i++) escrow.check('five', 1)
    escrow.check('three', 1)
    // 38 tenths over 3 would be more than 63 tenths over 5, for which the other waits.
    for (let refused = 0; refused < 4; )
      for (const tenant of ['five', 'three']) refused = escrow.check(tenant, 0.1).allowed ? 0 : refused + 1
    expect(used('five')).toBeCloseTo(6.3, 9)
    expect(used('three')).toBeCloseTo(3.7, 9)
  })
})

describe('gaming', () => {
  it('a refused question wins nothing and takes no claim', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    escrow.check('a', 1)
    escrow.check('b', 1)
    const claim = escrow.peek('b', 499)
    for (let i = 0; i < 100; i++) escrow.check('a', 800)
    expect(escrow.peek('b', 499)).toEqual(claim)
    expect(escrow.peek('a', 500).allowed).toBe(false)
  })

  it('the cost that a tenant waits for is held back from those of a higher tag, for a tenth of a window', () => {
    const { escrow, clock } = escrowOf()
    for (const tenant of ['a', 'b', 'idle']) escrow.check(tenant, 1)
    drain(escrow, 'a')
    clock.advance(100)
    drain(escrow, 'a')
    expect(escrow.check('b', 320)).toMatchObject({ allowed: false, reason: 'over-share' })
    clock.advance(30)
    expect(escrow.check('a', 5)).toMatchObject({ allowed: false, reason: 'over-share' })
    clock.advance(69)
    expect(escrow.check('a', 5)).toMatchObject({ allowed: false, reason: 'over-share' })
    clock.advance(1)
    expect(escrow.check('a', 5)).toMatchObject({ allowed: true, borrowed: true })
  })

  it('shares what others leave by weight, not by how often one asks', () => {
    const { escrow, clock, used } = escrowOf({ limit: 2000 })
    escrow.check('idle5', 1)
    for (let i = 0; i < 40_000; i++) {
      escrow.check('light', 1)
      if (i % 10 === 0) escrow.check('heavy4', 1)
      clock.advance(WINDOW_MS / 40_001)
    }
    expect(used('heavy4') / used('light')).toBeCloseTo(4, 1)
    expect(used('heavy4') + used('light')).toBeGreaterThanOrEqual(1990)
  })

  it('leaves to those who wait, and have had less, as much as brings them as far, while they are away', () => {
    const { escrow, clock, used } = escrowOf({ limit: 6000 })
    for (const tenant of ['heavy4', 'light', 'idle']) escrow.check(tenant, 1)
    drain(escrow, 'heavy4')
    drain(escrow, 'light')
    const before = { heavy: used('heavy4'), light: used('light') }
    // A tenth of the idle one's claim becomes free: 90 of 1000.
    clock.advance(90)
    const { allowed, borrowed, remaining } = escrow.check('light', 1)
    expect({ allowed, borrowed }).toEqual({ allowed: true, borrowed: true })
    expect(remaining).toBeGreaterThan(15)
    drain(escrow, 'light')
    expect(used('light') - before.light).toBeGreaterThanOrEqual(17)
    expect(used('light') - before.light).toBeLessThanOrEqual(19)
    drain(escrow, 'heavy4')
    expect(used('heavy4') - before.heavy).toBeGreaterThanOrEqual(70)
    expect(escrow.snapshot().reserved + escrow.snapshot().used).toBeGreaterThan(6000 - 1)
  })

  it('an admitted unit holds a share: strict to the end, paced ever less', () => {
    for (const [reserve, least, most] of [
      ['strict', 100, 120],
      ['paced', 990, 1000],
    ] as const) {
      const { escrow, clock } = escrowOf({ reserve })
      for (let i = 1; i < 100; i++) escrow.check(`t${i}-1`, 1)
      for (let t = 0; t < 999; t++) {
        escrow.check('real', 1)
        drain(escrow, 'real')
        clock.advance(1)
      }
      expect(escrow.snapshot().used).toBeGreaterThanOrEqual(least)
      expect(escrow.snapshot().used).toBeLessThanOrEqual(most)
    }
  })
})

describe('retryAfterMs', () => {
  it('is exact where time alone will do', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('a', 1)
    escrow.check('idle', 1)
    drain(escrow, 'a')
    const { retryAfterMs } = escrow.check('a', 20)
    expect(retryAfterMs).toBeGreaterThan(30)
    expect(retryAfterMs).toBeLessThan(50)
    clock.advance(retryAfterMs * 0.99)
    expect(escrow.peek('a', 20).allowed).toBe(false)
    clock.advance(retryAfterMs * 0.01)
    expect(escrow.peek('a', 20).allowed).toBe(true)
  })

  it('is exact where others, who are away, are due as much before', () => {
    const { escrow, clock } = escrowOf()
    for (const tenant of ['a', 'b3', 'idle2']) escrow.check(tenant, 1)
    drain(escrow, 'a')
    drain(escrow, 'b3')
    // The idle one's claim fades by a third of 1 each millisecond: as b is due three of four, a has to wait longer.
    const { retryAfterMs } = escrow.check('a', 3)
    expect(retryAfterMs).toBeGreaterThan(3 * 3)
    expect(retryAfterMs).toBeLessThan(50)
    clock.advance(retryAfterMs * 0.99)
    expect(escrow.peek('a', 3).allowed).toBe(false)
    clock.advance(retryAfterMs * 0.01)
    expect(escrow.peek('a', 3).allowed).toBe(true)
  })

  it('is at most a twentieth of a window, at least 1 ms, and ends with the window', () => {
    const { escrow, clock } = escrowOf({ reserve: 'strict' })
    escrow.check('a', 1)
    escrow.check('b', 1)
    expect(drain(escrow, 'a').retryAfterMs).toBe(50)
    clock.advance(980)
    expect(escrow.check('a', 1).retryAfterMs).toBe(20)
    clock.advance(19.5)
    expect(escrow.check('a', 1).retryAfterMs).toBe(1)
  })
})

describe('settle', () => {
  it('gives back, or charges, the difference', () => {
    const { escrow, used } = escrowOf()
    const one = escrow.check('a', 100)
    const two = escrow.check('a', 100)
    expect(escrow.settle(one, 30)).toEqual({ settled: true, unpaid: 0 })
    expect(used('a')).toBe(130)
    expect(escrow.settle(two, 250)).toEqual({ settled: true, unpaid: 0 })
    expect(used('a')).toBe(280)
    expect(escrow.snapshot().remaining).toBe(720)
  })

  it('gives back no more than all there was, whatever rounding makes of it', () => {
    const { escrow } = escrowOf({ limit: 999.9999999999983 })
    escrow.refund(escrow.check('a', 246.14390512163067))
    expect(escrow.snapshot()).toMatchObject({ used: 0, remaining: 999.9999999999983 })
    expect(escrow.check('a', escrow.peek('a', 2000).remaining).allowed).toBe(true)
  })

  it('charges no more than there is, and returns the rest as unpaid', () => {
    const { escrow } = escrowOf()
    const decision = escrow.check('a', 900)
    escrow.check('a', 60)
    expect(escrow.settle(decision, 1000)).toEqual({ settled: true, unpaid: 60 })
    expect(escrow.snapshot()).toMatchObject({ used: 1000, remaining: 0 })
  })

  it('counts once, in its window, and says so', () => {
    const { escrow, clock } = escrowOf()
    const decision = escrow.check('a', 100)
    const late = escrow.check('a', 100)
    expect(escrow.settle(decision, 10).settled).toBe(true)
    expect(escrow.settle(decision, 500)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.snapshot().used).toBe(110)
    clock.advance(WINDOW_MS)
    escrow.check('b', 5)
    expect(escrow.settle(late, 10)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.snapshot().used).toBe(5)
  })

  it('leaves a decision as it was where its late charge cannot be weighed', () => {
    let isGone = false
    const weightOf = (): number => {
      if (isGone) throw new Error('no such tenant')
      return 1
    }
    const { escrow, clock } = escrowOf({ weightOf, estimates: 'asked' })
    const [settled, charged] = [escrow.check('a', 100), escrow.check('a', 100)]
    clock.advance(WINDOW_MS)
    isGone = true
    expect(() => escrow.settle(settled, 300)).toThrow('no such tenant')
    expect(() => escrow.charge(charged, 200)).toThrow('no such tenant')
    isGone = false
    expect(escrow.settle(settled, 300)).toEqual({ settled: true, unpaid: 200 })
    expect(escrow.charge(charged, 200)).toEqual({ settled: true, unpaid: 100 })
    expect(escrow.settle(charged, 200).settled).toBe(false)
    clock.advance(WINDOW_MS)
    expect(escrow.check('a', 701).allowed).toBe(false)
    expect(escrow.check('a', 700).allowed).toBe(true)
  })

  it('does nothing for what was refused, or only peeked at', () => {
    const { escrow } = escrowOf()
    escrow.check('a', 1000)
    expect(escrow.settle(escrow.check('a', 10), 500).settled).toBe(false)
    expect(escrow.settle(escrow.peek('a', 10), 500).settled).toBe(false)
    expect(escrow.snapshot().used).toBe(1000)
  })

  it('a refund gives everything back', () => {
    const { escrow } = escrowOf()
    const decision = escrow.check('a', 700)
    expect(escrow.refund(decision)).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.snapshot()).toMatchObject({ used: 0, remaining: 1000 })
    expect(escrow.check('a', 1000).allowed).toBe(true)
  })

  it('brings the level up again, or down', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    const large = escrow.check('a', 900)
    escrow.check('b', 50)
    expect(escrow.peek('b', 1).guarantee).toBe(100)
    escrow.settle(large, 400)
    expect(escrow.peek('b', 1).guarantee).toBe(500)
  })
})

describe('bad input', () => {
  it('is refused by name when an escrow is made', () => {
    const make = (options: object) => () => new WeightedFairEscrow({ limit: 10, windowMs: 1000, ...options })
    expect(make({ limit: 0 })).toThrow('limit must be a number > 0')
    expect(make({ limit: Number.POSITIVE_INFINITY })).toThrow('limit must be')
    expect(make({ windowMs: 0.5 })).toThrow('windowMs must be a number from 1')
    expect(make({ weightOf: 3 })).toThrow('weightOf must be a function, got 3')
    expect(make({ maxTenants: 0 })).toThrow('maxTenants must be an integer >= 1, got 0')
    expect(make({ reserve: 'loose' })).toThrow('reserve must be one of "strict", "paced", got "loose"')
    expect(make({ clock: 5 })).toThrow('clock must be a function')
    expect(make({ limits: 5 })).toThrow('escrow has no option "limits"')
  })

  it('is refused by name, and leaves no trace, when it is asked', () => {
    const bad = new Error('no such tenant')
    const weights: Record<string, number> = { zero: 0, minus: -1, nan: Number.NaN, huge: Number.POSITIVE_INFINITY }
    const { escrow } = escrowOf({
      weightOf: (tenant) => {
        if (tenant === 'throws') throw bad
        return weights[tenant] ?? 1
      },
    })
    const good = escrow.check('a', 1)
    const before = escrow.snapshot()
    for (const ask of [escrow.check.bind(escrow), escrow.peek.bind(escrow)]) {
      expect(() => ask('', 1)).toThrow('tenant must be a non-empty string, got ""')
      for (const cost of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 1])
        expect(() => ask('b', cost)).toThrow(`cost must be a number > 0 and <= 9007199254740991, got ${cost}`)
      for (const tenant of Object.keys(weights)) expect(() => ask(tenant, 1)).toThrow(`weightOf("${tenant}") must be`)
      expect(() => ask('throws', 1)).toThrow(bad)
    }
    for (const cost of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => escrow.settle(good, cost)).toThrow(
        `actualCost must be a number from 0 to 9007199254740991, got ${cost}`,
      )
    expect(() => escrow.settle(escrowOf().escrow.check('a', 1), 1)).toThrow(
      'decision must come from check of this escrow',
    )
    expect(() => escrow.settle({ ...good }, 1)).toThrow('decision must come from check of this escrow')
    expect(escrow.snapshot()).toEqual(before)
  })
})
