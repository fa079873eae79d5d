import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { steady } from '../clock.js'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { must, SUMMED, type Trace, traces } from './fixtures/trace.js'
import { hierarchy } from './hierarchy.js'
import type { EscrowOptions } from './options.js'

const WINDOW_MS = 1000

function escrowOf(options: Partial<EscrowOptions> = {}) {
  const clock = manualClock(60_000)
  const seams = { estimates: 'asked', clock } as const
  const escrow = new WeightedFairEscrow({ limit: 1000, windowMs: WINDOW_MS, window: 'sliding', ...seams, ...options })
  return { clock, escrow }
}

/** Asks for `cost` until it is refused; returns the amount admitted. */
function drain(escrow: WeightedFairEscrow, tenant: string, cost = 1): number {
  for (let used = 0; ; used += cost) if (!escrow.check(tenant, cost).allowed) return used
}

describe('a window that slides', () => {
  it('knows no edges: what is used at the end of a window counts a whole length of it', () => {
    const { escrow, clock } = escrowOf()
    clock.advance(900)
    expect(drain(escrow, 'a')).toBe(1000)
    for (const afterMs of [90, 20, 400, 480]) {
      clock.advance(afterMs)
      expect(escrow.check('a', 1)).toMatchObject({ allowed: false, reason: 'exhausted' })
    }
    // And a 128th more.
    clock.advance(10 - 0.1)
    expect(escrow.check('a', 1).allowed).toBe(false)
    clock.advance(0.1 + WINDOW_MS / 128)
    expect(drain(escrow, 'a')).toBe(1000)
  })

  it('knows which calls can never be admitted by the limit of now, also while nothing is left', () => {
    const { escrow, clock } = escrowOf()
    clock.advance(900)
    drain(escrow, 'a')
    clock.advance(100)
    const reasons = [500, 900, 700].map((limit) => {
      escrow.setLimit(limit)
      return escrow.check('a', 800).reason
    })
    expect(reasons).toEqual(['never', 'exhausted', 'never'])
  })

  it('tells when enough will be free again, and it is', () => {
    const { escrow, clock } = escrowOf()
    for (let i = 0; i < 10; i++) {
      escrow.check('a', 100)
      clock.advance(100)
    }
    const refused = escrow.check('a', 150)
    expect(refused).toMatchObject({ allowed: false, reason: 'exhausted' })
    // The first hundred are a window old by now; the second will be a tenth of a window later, told by 128ths of it.
    // It is told to return earlier, so that it keeps its place in line.
    let waitedMs = 0
    for (let decision = refused; !decision.allowed; decision = escrow.check('a', 150)) {
      expect(decision.retryAfterMs).toBeLessThanOrEqual(WINDOW_MS / 20)
      waitedMs += decision.retryAfterMs
      clock.advance(decision.retryAfterMs)
    }
    expect(waitedMs).toBeGreaterThanOrEqual(100)
    expect(waitedMs).toBeLessThanOrEqual(100 + WINDOW_MS / 128)
  })

  it('is as good as new after a window in which nobody asked, and after a leap of the clock', () => {
    const { escrow, clock } = escrowOf()
    clock.advance(999)
    drain(escrow, 'a')
    clock.advance(1001)
    expect(drain(escrow, 'a')).toBe(1000)
    clock.advance(1e9)
    expect(drain(escrow, 'b')).toBe(1000)
  })

  it('gives back at once what is refunded, and takes a new limit at once', () => {
    const { escrow, clock } = escrowOf()
    const large = escrow.check('a', 900)
    clock.advance(500)
    escrow.check('a', 100)
    escrow.refund(large)
    expect(escrow.snapshot()).toMatchObject({ used: 100, remaining: 900 })
    clock.advance(600)
    expect(escrow.snapshot()).toMatchObject({ used: 0, remaining: 900 })
    escrow.setLimit(500)
    expect(escrow.snapshot()).toMatchObject({ used: 0, remaining: 400 })
    expect(escrow.check('a', 501).reason).toBe('never')
  })

  it.each(['paced', 'strict'] as const)('lets a debtor that fell silent pay as budget comes back: %s', (reserve) => {
    const { escrow, clock } = escrowOf({ reserve })
    const windows = [0, 0, 0, 0, 0, 0, 0, 0]
    let owed = 0
    for (const at of windows.keys())
      for (let step = 0; step < 100; step++) {
        if (owed === 0 && at > 0) {
          const decision = escrow.check('debtor', 1)
          if (decision.allowed) owed = escrow.settle(decision, 1500).unpaid
        }
        for (let call = 0; call < 10; call++)
          for (const tenant of ['a', 'b']) if (escrow.check(tenant, 1).allowed) windows[at]!++
        clock.advance(WINDOW_MS / 100)
      }
    expect(owed).toBeGreaterThan(1000)
    // It pays what it owes, from its third, and no more. In strict form, the rest of its last third is kept.
    const lost = 8 * 1000 - windows.reduce((sum, used) => sum + used, 0)
    expect(lost).toBeGreaterThan(owed)
    expect(lost).toBeLessThan(owed + 1000 / 3 + 20)
    for (const used of windows) expect(used).toBeGreaterThan(650)
    expect(windows.at(-1)).toBeGreaterThan(980)
    expect(escrow.snapshot().tenants).toBe(2)
  })

  it('shares by weight all the time, however often each asks, and uses nearly all', () => {
    const weightOf = (tenant: string): number => (tenant === 'gold' ? 4 : 1)
    const { escrow, clock } = escrowOf({ weightOf })
    const random = seededRandom(3)
    const used: { atMs: number; tenant: string }[] = []
    for (let step = 0; step < 5000; step++) {
      for (const tenant of ['gold', ...(random() < 0.9 ? ['tin', 'tin', 'tin'] : ['tin'])])
        if (escrow.check(tenant, 1).allowed) used.push({ atMs: step, tenant })
      clock.advance(1)
    }
    for (let fromMs = 1000; fromMs <= 4000; fromMs += 250) {
      const span = used.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 1000)
      expect(span.length).toBeLessThanOrEqual(1000)
      expect(span.length).toBeGreaterThan(960)
      const gold = span.filter(({ tenant }) => tenant === 'gold').length / span.length
      expect(Math.abs(gold - 0.8)).toBeLessThan(0.03)
    }
  })

  it('is refused by name if there is no such window', () => {
    expect(() => escrowOf({ window: 'rolling' as never })).toThrow('window must be one of "fixed", "sliding"')
  })
})

/** Spent amounts with their times; changed by settlements. */
interface Spent {
  readonly decision: EscrowDecision
  readonly atMs: number
  amount: number
}

describe('tenants that want less than their part, at an even pace, beside greedy ones', () => {
  interface Polite {
    /** Parts of its share: of a call, and of its use in a window. */
    readonly call: number
    readonly use: number
  }

  /** The part of the calls of each polite tenant that is refused. */
  function refused(greedy: readonly number[], polite: readonly Polite[], isTree: boolean): number[] {
    const names = [...greedy.map((_, i) => `greedy-${i}`), ...polite.map((_, i) => `polite-${i}`)]
    // The first polite one is in a group with the greedy ones.
    const inside = names.slice(0, greedy.length + 1)
    const outside = names.slice(greedy.length + 1)
    const groups = [inside, outside].filter(({ length }) => length > 0)
    const children = groups.map((group) => ({
      ...{ name: `${group[0]}…`, weight: group.length },
      children: group.map((name) => ({ name })),
    }))
    const { escrow, clock } = escrowOf(isTree ? { tree: hierarchy({ name: 'all', children }) } : {})
    const share = 1000 / names.length
    const counts = polite.map(({ call, use }) => ({
      cost: call * share,
      everyMs: (call / use) * WINDOW_MS,
      at: 0,
      no: 0,
    }))
    for (let ms = 0; ms < 8 * WINDOW_MS; ms += 5) {
      for (const [i, cost] of greedy.entries()) escrow.check(`greedy-${i}`, cost)
      for (const [i, one] of counts.entries())
        while (one.at * one.everyMs <= ms) {
          one.at++
          if (!escrow.check(`polite-${i}`, one.cost).allowed && ms > 3 * WINDOW_MS) one.no++
        }
      clock.advance(5)
    }
    return counts.map(({ no, everyMs }) => no / ((5 * WINDOW_MS) / everyMs))
  }

  it('are hardly ever refused, since use does not gather at the ends of windows', () => {
    const part = (min: number, max: number) => fc.double({ min, max, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 5, max: 15 }), { minLength: 1, maxLength: 2 }),
        fc.array(fc.record({ call: part(0.005, 0.05), use: part(0.2, 0.9) }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        (greedy, polite, isTree) => {
          for (const part of refused(greedy, polite, isTree)) expect(part).toBeLessThanOrEqual(0.05)
        },
      ),
      {
        ...propertyRuns(),
        examples: [
          [
            [9, 10],
            [
              { call: 0.04, use: 0.36 },
              { call: 0.048, use: 0.75 },
            ],
            true,
          ],
        ],
      },
    )
  })
})

/** Runs a trace in a sliding window, and records all spending. */
function run(trace: Trace): void {
  const { limit, windowMs, reserve, maxTenants, weights, steps } = trace
  const known = new Map(weights.map((weight, i) => [`t${i}`, weight]))
  const weightOf = (tenant: string): number => known.get(tenant)!
  const { escrow, clock } = escrowOf({ limit, windowMs, reserve, maxTenants, weightOf })
  const slack = Math.min(1e-3, 1e-9 * limit) * SUMMED
  const spent: Spent[] = []
  // The escrow's time, of which T1 speaks: it stands still after a small step back. Read in each step, as the escrow
  // does.
  const time = steady(clock)
  for (const step of steps) {
    clock.advance(step.afterMs)
    const nowMs = time()
    if (step.type === 'reweigh') known.set(step.tenant, step.weight)
    else if (step.type === 'check') {
      const decision = escrow.check(step.tenant, step.cost)
      if (decision.allowed) spent.push({ decision, atMs: nowMs, amount: step.cost })
      if (decision.remaining > 0)
        must(
          escrow.peek(step.tenant, decision.remaining).allowed,
          () => `not what remains: ${JSON.stringify(decision)}`,
        )
    } else {
      const one = spent.at(-1 - step.which)
      if (one !== undefined) {
        const actual = one.decision.cost * step.factor
        const { settled, unpaid } = escrow.settle(one.decision, actual)
        const isLate = one.decision.resetAtMs <= Math.floor(nowMs / windowMs) * windowMs
        if (settled && !isLate && actual > one.amount)
          spent.push({ decision: one.decision, atMs: nowMs, amount: actual - one.amount - unpaid })
        else if (settled && !isLate) one.amount = actual
      }
    }
    // T1: in the window's length up to now.
    const used = spent.reduce((sum, { atMs, amount }) => sum + (atMs > nowMs - windowMs ? amount : 0), 0)
    must(used <= limit + slack, () => `gave out ${used} of ${limit} up to ${nowMs}`)
    // T2: claims fit into the remainder.
    const { remaining, reserved } = escrow.snapshot()
    must(reserved <= Math.max(0, remaining) + slack, () => `kept ${reserved} of ${remaining}`)
  }
}

describe.each(['whole', 'fractions'] as const)('over random traces of %s numbers, a window that slides', (kind) => {
  it('T1, T2: no span sees more than the limit, and claims fit into what is left', () => {
    fc.assert(fc.property(traces(kind), run), propertyRuns())
  })
})

describe('in a window that slides', () => {
  const tenant = fc.record({ weight: fc.integer({ min: 1, max: 8 }), cost: fc.integer({ min: 1, max: 40 }) })

  it('T3, T4: less than a cost is free when all are refused, and each window is shared by weight', () => {
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 200, max: 3000 }),
        (all, limit) => {
          const weightOf = (name: string): number => all[Number(name)]!.weight
          const { escrow, clock } = escrowOf({ limit, weightOf })
          const used = all.map(() => 0)
          const largest = Math.max(...all.map(({ cost }) => cost))
          const least = Math.min(...all.map(({ weight }) => weight))
          for (let step = 0; step < 200; step++) {
            if (step % 50 === 0) used.fill(0)
            for (let refused = 0, i = step % all.length; refused < 2 * all.length; i = (i + 1) % all.length) {
              const { allowed } = escrow.check(String(i), all[i]!.cost)
              if (allowed) used[i]! += all[i]!.cost
              refused = allowed ? 0 : refused + 1
            }
            const { remaining, reserved } = escrow.snapshot()
            expect(remaining).toBeLessThan(largest + reserved + 1e-6)
            clock.advance(20)
            if (step % 50 < 49) continue
            for (const [i, one] of all.entries())
              for (const [j, two] of all.entries()) {
                const gap = Math.abs(used[i]! / one.weight - used[j]! / two.weight)
                const bound = largest * (1 / one.weight + 1 / two.weight + 1 / least)
                expect(gap).toBeLessThanOrEqual(bound + 1e-6)
              }
          }
        },
      ),
      propertyRuns(),
    )
  })
})

it.each(['fixed', 'sliding'] as const)(
  'uses nearly all of a %s window, or keeps a quarter of unused claims',
  (window) => {
    let nowMs = 0
    const escrow = new WeightedFairEscrow({ limit: 1_000, windowMs: 1_000, window, clock: () => nowMs })
    let used = 0
    for (; nowMs < 20_000; nowMs += 5) {
      const calls = nowMs % 500 === 0 ? Array.from({ length: 9 }, (_, i) => `light ${i}`) : []
      for (const name of [...calls, ...Array<string>(12).fill('greedy')])
        if (escrow.check(name, 1).allowed && nowMs >= 10_000) used++
    }
    const part = used / 10_000
    if (window === 'fixed') expect(part).toBeGreaterThan(0.97)
    else expect(part).toBeGreaterThan(0.75)
    expect(part).toBeLessThan(window === 'fixed' ? 1.001 : 0.9)
  },
)
