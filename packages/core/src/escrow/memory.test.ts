import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { WeightedFairEscrow } from './escrow.js'
import { hierarchy } from './hierarchy.js'

const WINDOW_MS = 10_000

interface Polite {
  limit: number
  cost: number
  windows: number
  weights: readonly number[]
  connections: number
  seed: number
}

/** Clients that return when an HTTP adapter tells them to; returns the admissions of each, window by window. */
function politeClients({ limit, cost, windows, weights, connections, seed }: Polite): number[][] {
  const random = seededRandom(seed)
  const clock = manualClock()
  const weightOf = (tenant: string): number => weights[Number(tenant)]!
  const escrow = new WeightedFairEscrow({ limit, windowMs: WINDOW_MS, weightOf, clock })
  const got = Array.from({ length: windows }, () => weights.map(() => 0))
  const clients = weights.flatMap((_weight, tenant) =>
    Array.from({ length: connections }, () => ({ tenant, atMs: 50 * random() })),
  )
  for (;;) {
    const next = clients.reduce((a, b) => (b.atMs < a.atMs ? b : a))
    if (next.atMs >= windows * WINDOW_MS) return got
    clock.advance(next.atMs - clock())
    const { allowed, retryAfterMs } = escrow.check(String(next.tenant), cost)
    if (allowed) got[Math.floor(next.atMs / WINDOW_MS)]![next.tenant]! += cost
    // Whole seconds, and up to half as much again by chance.
    const seconds = Math.max(1, Math.ceil((retryAfterMs / 1_000) * (1 + random() / 2)))
    next.atMs += allowed ? 5 + 2 * random() : seconds * 1_000
  }
}

function parts(amounts: readonly number[]): number[] {
  const sum = amounts.reduce((a, b) => a + b, 0)
  return amounts.map((amount) => amount / sum)
}

describe('clients that come back by Retry-After', () => {
  it.each([1, 2, 3])('get their weights in every window, and nobody is left out, seed %d', (seed) => {
    const weights = [4, 2, 1, 1]
    const windows = politeClients({ limit: 300, cost: 1, windows: 20, weights, connections: 4, seed })
    for (const window of windows)
      for (const [at, part] of parts(window).entries()) expect(Math.abs(part - weights[at]! / 8)).toBeLessThan(0.03)
  })

  it.each([1, 2, 3])('get them over ten windows, where a guarantee is less than one cost, seed %d', (seed) => {
    const weights = [4, 2, 1, 1]
    const windows = politeClients({ limit: 30, cost: 5, windows: 40, weights, connections: 1, seed })
    const sums = weights.map((_weight, at) => windows.reduce((sum, window) => sum + window[at]!, 0))
    for (const [at, part] of parts(sums).entries()) expect(Math.abs(part - weights[at]! / 8)).toBeLessThan(0.03)
  })
})

describe('what is remembered of the last window', () => {
  function escrowOf(limit = 1_000) {
    const clock = manualClock()
    return { clock, escrow: new WeightedFairEscrow({ limit, windowMs: WINDOW_MS, estimates: 'asked', clock }) }
  }

  it('keeps the shares of those that asked, also of one that was turned away', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('greedy', 1_000)
    clock.advance(5_000)
    expect(escrow.check('late', 1).reason).toBe('exhausted')
    clock.advance(5_000)
    expect(escrow.check('greedy', 501).allowed).toBe(false)
    expect(escrow.check('late', 500).allowed).toBe(true)
  })

  it('waits with lending until those that were sent away are back, and no longer than most of the window', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('here', 500)
    escrow.check('away', 500)
    for (const tenant of ['here', 'away']) expect(escrow.check(tenant, 1).allowed).toBe(false)
    clock.advance(WINDOW_MS)
    escrow.check('here', 500)
    clock.advance(5_000)
    // It was told to come in ten seconds, which may be fifteen.
    expect(escrow.check('here', 1).allowed).toBe(false)
    expect(escrow.peek('away', 500).allowed).toBe(true)
    clock.advance(4_900)
    expect(escrow.check('here', 400).allowed).toBe(true)
  })

  it('owes what one got less than another, and no more than a guarantee', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('much', 900)
    escrow.check('little', 100)
    for (const tenant of ['much', 'little']) escrow.check(tenant, 1)
    clock.advance(WINDOW_MS)
    // When the little one came, no more than 100 could be guaranteed; it is owed that, by half from each share.
    expect(escrow.peek('little', 1).guarantee).toBeCloseTo(550)
    expect(escrow.peek('much', 1).guarantee).toBeCloseTo(450)
    escrow.check('little', 550)
    escrow.check('much', 450)
    clock.advance(WINDOW_MS)
    clock.advance(WINDOW_MS)
    // No request for a whole window: that is forgotten.
    expect(escrow.snapshot()).toMatchObject({ tenants: 0, used: 0 })
  })

  it('owes nothing to those that wanted nothing', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('much', 900)
    escrow.check('little', 10)
    clock.advance(WINDOW_MS)
    expect(escrow.peek('little', 1).guarantee).toBeCloseTo(500)
  })

  it('takes half of the places for tenants at most, so that newcomers find some', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: WINDOW_MS, maxTenants: 10, clock })
    for (let at = 0; at < 9; at++) escrow.check(`t${at}`, 1)
    clock.advance(WINDOW_MS)
    expect(escrow.snapshot().tenants).toBe(5)
  })
})

describe('costs that are known afterwards', () => {
  it('become debts where they cannot be charged, paid out of one’s own share', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', clock })
    const call = escrow.check('debtor', 100)
    escrow.check('other', 500)
    expect(escrow.settle(call, 1_700)).toEqual({ settled: true, unpaid: 1_200 })
    clock.advance(WINDOW_MS)
    // A third of the window is its own, beside the other one and another that may come.
    expect(escrow.snapshot().used).toBeCloseTo(1_000 / 3, 6)
    expect(escrow.check('debtor', 1).allowed).toBe(false)
    expect(escrow.check('other', 500).allowed).toBe(true)
    for (let i = 0; i < 2; i++) {
      clock.advance(WINDOW_MS)
      expect(escrow.snapshot().used).toBeCloseTo(1_000 / 3, 6)
      escrow.check('other', 1)
    }
    clock.advance(WINDOW_MS)
    expect(escrow.snapshot().used).toBeCloseTo(200, 6)
  })

  it.each(['fixed', 'sliding'] as const)('leave its share to a tenant that nobody knows yet: %s windows', (window) => {
    const clock = manualClock()
    const options = { limit: 1_000, windowMs: WINDOW_MS, window, estimates: 'asked', maxTenants: 10, clock } as const
    const escrow = new WeightedFairEscrow(options)
    // Five debtors are all that the next window remembers.
    const calls = Array.from({ length: 5 }, (_, i) => escrow.check(`debtor-${i}`, 1))
    clock.advance(WINDOW_MS)
    for (const call of calls) escrow.settle(call, 20_000)
    let admitted = 0
    for (let i = 0; i < 40; i++) {
      clock.advance(WINDOW_MS / 4)
      if (escrow.check('newcomer', 25).allowed) admitted++
    }
    expect(admitted).toBeGreaterThan(36)
  })

  it('are paid first by a tenant that was away', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: WINDOW_MS, estimates: 'asked', clock })
    const late = escrow.check('debtor', 1)
    escrow.check('other', 1)
    for (let i = 0; i < 3; i++) {
      clock.advance(WINDOW_MS)
      escrow.check('other', 1)
    }
    expect(escrow.settle(late, 40)).toEqual({ settled: true, unpaid: 39 })
    // Half of the window is its own.
    let admitted = 0
    while (escrow.check('debtor', 1).allowed) admitted++
    expect(admitted).toBe(11)
    expect(escrow.snapshot().used).toBe(51)
  })

  it('let a tenant that was away wait for as long as it owes more than its share', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: WINDOW_MS, estimates: 'asked', clock })
    const late = escrow.check('debtor', 1)
    for (let i = 0; i < 3; i++) {
      clock.advance(WINDOW_MS)
      escrow.check('other', 1)
    }
    escrow.settle(late, 101)
    const windows = Array.from({ length: 5 }, () => {
      let admitted = 0
      while (escrow.check('debtor', 1).allowed) admitted++
      clock.advance(WINDOW_MS)
      escrow.check('other', 1)
      return admitted
    })
    expect(windows.slice(0, 2)).toEqual([0, 0])
    expect(windows[4]).toBe(50)
  })

  it.each([
    ['fixed', 'paced', 20],
    ['fixed', 'strict', 20],
    ['sliding', 'paced', 11],
    ['sliding', 'strict', 20],
  ] as const)(
    'leave to a tenant that asks in each second window of %s windows, %s: %i of 20',
    (window, reserve, most) => {
      const clock = manualClock()
      const options = { limit: 1_000, windowMs: 1_000, window, reserve, estimates: 'asked', clock } as const
      const escrow = new WeightedFairEscrow(options)
      let served = 0
      for (let at = 0; at < 40; at++) {
        clock.advance(501)
        if (at % 2 === 0 && escrow.check('polite', 100).allowed) served++
        clock.advance(250)
        const call = at % 4 === 3 ? escrow.check('debtor', 1) : undefined
        if (call?.allowed) escrow.settle(call, 2_000)
        clock.advance(249)
      }
      expect(served).toBe(most)
    },
  )

  it('take no more in sliding windows than a call for the charged part would', () => {
    const served = [true, false].map((isHonest) => {
      const clock = manualClock()
      const options = { limit: 1_000, windowMs: 1_000, window: 'sliding', estimates: 'asked', clock } as const
      const escrow = new WeightedFairEscrow(options)
      let admitted = 0
      for (let at = 0; at < 40; at++) {
        clock.advance(501)
        if (at % 2 === 0 && escrow.check('polite', 100).allowed) admitted++
        clock.advance(250)
        const call = at % 4 === 3 ? escrow.check('other', isHonest ? 870 : 1) : undefined
        if (call?.allowed && !isHonest) escrow.settle(call, 2_000)
        clock.advance(249)
      }
      return admitted
    })
    expect(served).toEqual([11, 11])
  })

  it('are not forgotten with those for which there is no place', () => {
    const clock = manualClock()
    const options = { limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', maxTenants: 10, clock } as const
    const escrow = new WeightedFairEscrow(options)
    let work = 0
    for (let poll = 0; poll < 400; poll++) {
      for (let i = 0; i < 8; i++) {
        const call = escrow.check(`debtor-${i}`, 1)
        if (!call.allowed) continue
        escrow.settle(call, 2_000)
        work += 2_000
      }
      clock.advance(WINDOW_MS / 10)
    }
    // In 40 windows: the first call of each comes before it is known.
    expect(work).toBeLessThanOrEqual(40 * 1_000 + 8 * 2_000)
  })

  it('end with the window for strangers that share a place', () => {
    const clock = manualClock()
    const options = { limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', maxTenants: 3, clock } as const
    const escrow = new WeightedFairEscrow(options)
    let calls = 0
    for (let window = 0; window < 10; window++) {
      escrow.check('a', 5)
      escrow.check('b', 5)
      const call = escrow.check(`stranger-${window}`, 1)
      if (call.allowed) calls++
      escrow.settle(call, 2_000)
      expect(escrow.check(`other-${window}`, 1).allowed).toBe(false)
      clock.advance(WINDOW_MS)
    }
    expect(calls).toBe(10)
  })

  it('are owed, too, where the window is over', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', clock })
    const late = escrow.check('a', 100)
    const early = escrow.check('a', 100)
    clock.advance(WINDOW_MS)
    expect(escrow.settle(late, 400)).toEqual({ settled: true, unpaid: 300 })
    expect(escrow.settle(late, 400)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.settle(early, 50)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.snapshot().used).toBe(0)
    clock.advance(WINDOW_MS)
    expect(escrow.snapshot().used).toBe(300)
  })

  it('are learned: what is reserved comes near what is used, and whole costs stay whole', () => {
    const clock = manualClock()
    const random = seededRandom(7)
    const escrow = new WeightedFairEscrow({ limit: 100_000, windowMs: WINDOW_MS, clock })
    for (let at = 0; at < 60; at++) escrow.settle(escrow.check('a', 400), Math.round(100 * (0.5 + random())))
    const before = escrow.snapshot().used
    const decision = escrow.check('a', 400)
    const reserved = escrow.snapshot().used - before
    expect(decision.cost).toBe(400)
    expect(Number.isInteger(reserved)).toBe(true)
    expect(reserved).toBeGreaterThan(100)
    expect(reserved).toBeLessThan(170)
    escrow.settle(decision, 150)
    expect(escrow.snapshot().used).toBe(before + 150)
    // Another tenant's costs are its own, and a tenant that hardly ever settles is charged its requested cost.
    escrow.check('b', 400)
    expect(escrow.snapshot().used).toBe(before + 550)
  })

  it.each([
    ['a millionth of it', 1, 1_000_000],
    ['next to nothing', Number.MIN_VALUE, 1],
  ])('are soon learned anew after a call that was asked for as %s', (_, cost, actual) => {
    const escrow = new WeightedFairEscrow({ limit: 1e9, windowMs: WINDOW_MS, clock: manualClock() })
    const settle = (asked: number, costs: number): void => void escrow.settle(escrow.check('a', asked), costs)
    for (let at = 0; at < 10; at++) settle(1, 1)
    settle(cost, actual)
    for (let at = 0; at < 60; at++) settle(1, 1)
    const { used } = escrow.snapshot()
    expect(escrow.check('a', 1).allowed).toBe(true)
    expect(escrow.snapshot().used).toBe(used + 1)
  })

  it('are not learned from what did not run, or while it is known of few', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 100_000, windowMs: WINDOW_MS, clock })
    for (let at = 0; at < 20; at++) escrow.refund(escrow.check('a', 400))
    for (let at = 0; at < 8; at++) escrow.settle(escrow.check('rare', 400), 100)
    for (let at = 0; at < 20; at++) escrow.check('rare', 1)
    const { used } = escrow.snapshot()
    escrow.check('a', 400)
    escrow.check('rare', 400)
    expect(escrow.snapshot().used).toBe(used + 800)
  })

  it('are forgotten of the tenants that were first settled longest ago, beyond maxTenants', () => {
    const escrow = new WeightedFairEscrow({ limit: 1e6, windowMs: WINDOW_MS, maxTenants: 3, clock: manualClock() })
    const reservedFor = (tenant: string): number => {
      const { used } = escrow.snapshot()
      escrow.refund(escrow.check(tenant, 400))
      escrow.check(tenant, 400)
      return escrow.snapshot().used - used
    }
    for (const tenant of ['a', 'b', 'c', 'd', 'e'])
      for (let at = 0; at < 20; at++) escrow.settle(escrow.check(tenant, 400), 100)
    // 'a' and 'b' made room for 'd' and 'e'. 'a' takes the place of 'c' when it comes back.
    expect(['a', 'b', 'c', 'd', 'e'].map(reservedFor)).toEqual([400, 400, 100, 100, 100])
    for (let at = 0; at < 20; at++) escrow.settle(escrow.check('a', 400), 200)
    expect(['a', 'b', 'c', 'd', 'e'].map(reservedFor)).toEqual([200, 400, 400, 100, 100])
  })

  it.each([997, 998, 999, 1_000.5])('leave a debt, however large, that makes no call of %d impossible', (cost) => {
    const escrow = new WeightedFairEscrow({ limit: cost, windowMs: WINDOW_MS, clock: manualClock() })
    const calls = [1, 2, 3, 4].map((part) => escrow.check('a', part))
    for (const call of calls) escrow.settle(call, Number.MAX_SAFE_INTEGER)
    expect(escrow.check('a', cost)).toMatchObject({ allowed: false, reason: 'exhausted' })
    expect(escrow.check('a', cost * 1.01).reason).toBe('never')
  })

  it('tell those that are refused when something will come back', () => {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 1_000, windowMs: WINDOW_MS, clock })
    const calls = Array.from({ length: 10 }, () => escrow.check('a', 100))
    clock.advance(100)
    for (const call of calls.slice(0, 5)) escrow.settle(call, 10)
    while (escrow.check('a', 100).allowed);
    const { reason, retryAfterMs } = escrow.check('b', 100)
    expect(reason).toBe('exhausted')
    expect(retryAfterMs).toBeLessThanOrEqual(WINDOW_MS / 20)
  })

  it.each(
    (['paced', 'strict'] as const).flatMap((reserve) =>
      (['fixed', 'sliding'] as const).map((window) => ({ reserve, window })),
    ),
  )('that are far too low take nothing from others: %o', ({ reserve, window }) => {
    const clock = manualClock()
    const tree = hierarchy({
      name: 'all',
      children: [
        { name: 'team', weight: 1, children: [{ name: 'low' }, { name: 'mate' }] },
        { name: 'other', weight: 1, children: [{ name: 'honest' }] },
      ],
    })
    for (const form of [{}, { tree }]) {
      const options = { limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', reserve, window, clock } as const
      const escrow = new WeightedFairEscrow({ ...options, ...form })
      let actual = 0
      const got = { honest: 0, mate: 0 }
      for (let call = 0; call < 30 * 100; call++) {
        const low = escrow.check('low', 1)
        if (low.allowed) {
          escrow.settle(low, 2_000)
          actual += 2_000
        }
        // After three windows; ten calls in each.
        for (const tenant of ['honest', 'mate'] as const)
          if (call % 10 === 5 && escrow.check(tenant, 10).allowed && call >= 300) got[tenant] += 10
        clock.advance(WINDOW_MS / 100)
      }
      expect(got).toEqual({ honest: 27 * 100, mate: 27 * 100 })
      // It pays for every call but the last ones.
      expect(actual).toBeLessThan(30 * 1_000)
    }
  })

  it('are paid before more is borrowed', () => {
    const clock = manualClock()
    const options = { limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', reserve: 'strict', clock } as const
    const escrow = new WeightedFairEscrow(options)
    const other = escrow.check('other', 100)
    escrow.settle(escrow.check('debtor', 100), 800)
    // The other one has a claim to 400; 300 are owed.
    expect(escrow.snapshot()).toMatchObject({ used: 600, reserved: 400 })
    expect(escrow.peek('other', 400).allowed).toBe(true)
    expect(escrow.check('debtor', 50)).toMatchObject({ allowed: false, reason: 'over-share', remaining: 0 })
    // No longer a claim, but still less than the debt and the call: it is not its turn before both fit.
    expect(escrow.check('other', 100).allowed).toBe(true)
    escrow.settle(other, 100)
    escrow.setLimit(2_000)
    expect(escrow.check('debtor', 50)).toMatchObject({ allowed: true })
    expect(escrow.snapshot().used).toBe(700 + 300 + 50)
  })

  it('are paid by refunds, too', () => {
    const clock = manualClock()
    const options = { limit: 1_000, windowMs: WINDOW_MS, estimates: 'asked', reserve: 'strict', clock } as const
    const escrow = new WeightedFairEscrow(options)
    escrow.check('other', 500)
    const dear = escrow.check('debtor', 100)
    const cheap = escrow.check('debtor', 400)
    expect(escrow.settle(dear, 300).unpaid).toBe(200)
    expect(escrow.settle(cheap, 150)).toEqual({ settled: true, unpaid: 0 })
    // Of the 250 that come back, 200 pay the debt.
    expect(escrow.snapshot().used).toBe(950)
    expect(escrow.check('debtor', 50).allowed).toBe(true)
  })
})
