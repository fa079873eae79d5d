import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { must } from './fixtures/must.js'
import { OVERFLOW, type PlainAnswer, PlainEscrow } from './fixtures/plain-escrow.js'
import { propertyRuns } from './fixtures/property-runs.js'
import { type Trace, traces } from './fixtures/trace.js'

const show = (decision: EscrowDecision): string => JSON.stringify(decision)

/** An escrow and the plain rule, side by side. */
class Pair {
  readonly clock = manualClock(12_345_678)
  readonly weights: Map<string, number>
  readonly escrow: WeightedFairEscrow
  readonly plain: PlainEscrow
  readonly decisions: EscrowDecision[] = []
  /** By the end of the window. */
  readonly given: Map<number, number> = new Map()
  /** The clock without its jumps back. */
  nowMs = 12_345_678

  constructor({ limit, windowMs, reserve, maxTenants, weights }: Trace) {
    this.weights = new Map(weights.map((weight, i) => [`t${i}`, weight]))
    const weightOf = (tenant: string): number => this.weights.get(tenant) ?? 1
    const seams = { estimates: 'asked', clock: this.clock } as const
    this.escrow = new WeightedFairEscrow({ limit, windowMs, reserve, maxTenants, weightOf, ...seams })
    this.plain = new PlainEscrow(limit, windowMs, reserve, maxTenants)
  }

  wait(afterMs: number): void {
    this.clock.advance(afterMs)
    this.nowMs += Math.max(0, afterMs)
  }

  check(tenant: string, cost: number): EscrowDecision {
    const peeked = this.escrow.peek(tenant, cost)
    const decision = this.escrow.check(tenant, cost)
    must(JSON.stringify(peeked) === JSON.stringify(decision), () => `peek ${show(peeked)}, check ${show(decision)}`)
    if (decision.remaining > 0)
      must(this.escrow.peek(tenant, decision.remaining).allowed, () => `not what remains after ${show(decision)}`)
    if (decision.allowed) this.#account(decision.resetAtMs, cost)
    this.decisions.push(decision)
    const answer = this.plain.check(tenant, this.weights.get(tenant)!, cost, this.nowMs)
    const { allowed, reason, guarantee } = answer
    const got = decision.reason ?? (decision.borrowed ? 'borrows' : 'within')
    must(got === reason && decision.allowed === allowed, () => `expected ${reason}, got ${show(decision)}`)
    // Late in a window, claims hardly depend on guarantees: so exact are claims, and guarantees no more than that.
    const wrong = Math.abs(decision.guarantee - guarantee) * (1 - this.plain.tau)
    must(wrong <= this.plain.tolerance, () => `expected a guarantee of ${guarantee}, got ${show(decision)}`)
    if (!allowed) this.#told(decision, answer)
    if (!allowed && reason !== 'never') this.plain.told(tenant, this.weights.get(tenant)!, decision.retryAfterMs)
    return decision
  }

  /** Not earlier than there will be enough, and no later, unless it is never or much later. */
  #told(decision: EscrowDecision, { reason, lackIn }: PlainAnswer): void {
    const { startMs, atMs, windowMs, left, tolerance, paced } = this.plain
    const toldMs = decision.retryAfterMs
    const restMs = Math.max(0, startMs + windowMs - atMs)
    const latestMs = Math.max(1, left <= tolerance ? restMs : Math.min(restMs, windowMs / 20))
    const isLatest = Math.abs(toldMs - latestMs) < 1e-6
    const told = (): string => `told ${toldMs}, lacks ${lackIn(toldMs)} then: ${show(decision)}`
    if (reason === 'never') must(toldMs === Number.POSITIVE_INFINITY, told)
    else if (reason === 'exhausted' || left <= tolerance || !paced) must(isLatest, told)
    else {
      must(toldMs >= 1 && toldMs < latestMs + 1e-6, told)
      must(isLatest || lackIn(toldMs) <= 2 * tolerance, told)
      must(toldMs === 1 || lackIn(toldMs - 1e-3) >= -2 * tolerance, told)
    }
  }

  settle(which: number, factor: number): void {
    const decision = this.decisions[this.decisions.length - 1 - which]
    if (decision === undefined) return
    const actual = decision.cost * factor
    const { settled, unpaid } = this.escrow.settle(decision, actual)
    if (settled) this.#account(decision.resetAtMs, actual - decision.cost - unpaid)
    this.plain.advance(this.nowMs)
    if (!settled) return
    if (decision.resetAtMs <= this.plain.startMs) {
      must(unpaid === actual - decision.cost, () => `expected all of ${actual} to be owed, not ${unpaid}`)
      this.plain.owe(decision.tenant, this.weights.get(decision.tenant)!, unpaid)
      return
    }
    const left = this.plain.settle(this.plain.find(decision.tenant), actual - decision.cost, this.nowMs)
    must(Math.abs(unpaid - left) <= this.plain.tolerance, () => `expected ${left} unpaid, got ${unpaid}`)
  }

  /** T1, by an account of our own: what was given out in a window, less what came back, never exceeds the limit. */
  #account(windowEndMs: number, cost: number): void {
    const given = (this.given.get(windowEndMs) ?? 0) + cost
    this.given.set(windowEndMs, given)
    must(given <= this.plain.limit + this.plain.tolerance, () => `gave out ${given}`)
  }

  /** Nobody's weight changes any more: that would be an event, after which claims are others. */
  keepWeights(): void {
    for (const [name, { weight }] of this.plain.tenants) this.weights.set(name, weight)
  }

  /** What must always hold. */
  invariants(): void {
    this.plain.advance(this.nowMs)
    const { used, limit, remaining, reserved } = this.escrow.snapshot()
    const slack = this.plain.tolerance
    must(used <= limit + slack, () => `used ${used}`)
    must(reserved <= Math.max(0, remaining) + slack, () => `kept ${reserved} of ${remaining}`)
    must(Math.abs(remaining - this.plain.left) <= slack, () => `${remaining} left, not ${this.plain.left}`)
    must(Math.abs(reserved - this.plain.claims()) <= slack, () => `kept ${reserved}, not ${this.plain.claims()}`)
  }

  run({ steps }: Trace): void {
    for (const step of steps) {
      this.wait(step.afterMs)
      if (step.type === 'check') this.check(step.tenant, step.cost)
      else if (step.type === 'reweigh') this.weights.set(step.tenant, step.weight)
      else this.settle(step.which, step.factor)
      this.invariants()
    }
  }
}

/** As {@link PlainEscrow.claim}, of a tenant by name. */
function claimOf({ plain }: Pair, name: string): number {
  return plain.claim(plain.tenants.get(name)!)
}

/** A share of the limit. */
const share = fc.double({ min: 0, max: 1, noNaN: true })

describe.each(['whole', 'fractions'] as const)('over random traces of %s numbers', (kind) => {
  it('decides as the plain rule does', () => {
    fc.assert(
      fc.property(traces(kind), (trace) => new Pair(trace).run(trace)),
      propertyRuns(),
    )
  })

  it('T2: every claim is admitted at once, in any order, whatever others ask in between', () => {
    fc.assert(
      fc.property(traces(kind), fc.array(fc.tuple(fc.nat(50), fc.nat(50), share)), (trace, asks) => {
        const pair = new Pair(trace)
        pair.run(trace)
        pair.keepWeights()
        const claims = new Map([...pair.plain.tenants].map(([name, tenant]) => [name, pair.plain.claim(tenant)]))
        const names = [...claims.keys()].filter((name) => name !== OVERFLOW)
        for (const [owner, other, part] of asks) {
          const name = names[owner % names.length]
          const greedy = names[other % names.length]
          if (name === undefined || greedy === undefined) return
          // Who asks for more than its claim may lose it by that; the others must not.
          if (greedy !== name) {
            pair.check(greedy, Math.max(1, part * trace.limit))
            claims.set(greedy, pair.plain.claim(pair.plain.tenants.get(greedy)!))
          }
          const claim = claims.get(name)!
          if (claim < 1e-3) continue
          expect(pair.check(name, claim).allowed).toBe(true)
          claims.set(name, 0)
        }
      }),
      propertyRuns(),
    )
  })

  it('T2: with time, a claim falls as an even pace would use it up, and in strict form not at all', () => {
    fc.assert(
      fc.property(
        traces(kind),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.nat(50), share)),
        (trace, asks) => {
          const pair = new Pair(trace)
          pair.run(trace)
          pair.keepWeights()
          const { plain } = pair
          const names = [...plain.tenants.keys()].filter((name) => name !== OVERFLOW)
          for (const [afterMs, other, part] of asks) {
            const greedy = names[other % names.length]
            if (greedy === undefined || pair.nowMs + afterMs >= plain.startMs + trace.windowMs) return
            const before = new Map(names.map((name) => [name, claimOf(pair, name)]))
            pair.wait(afterMs)
            pair.check(greedy, Math.max(1, part * trace.limit))
            for (const [name, claim] of before) {
              const { weight } = plain.tenants.get(name)!
              const kept = trace.reserve === 'strict' ? claim : Math.min(claim, weight * plain.level * (1 - plain.tau))
              if (name !== greedy && kept > 1e-3)
                must(pair.escrow.peek(name, kept * (1 - 1e-9)).allowed, () => `${name} lost of ${kept}`)
            }
          }
        },
      ),
      propertyRuns(),
    )
  })

  it('T3: when all that ask are refused, less is left than one cost and the claims of those that do not', () => {
    fc.assert(
      fc.property(traces(kind), fc.array(share, { minLength: 12, maxLength: 12 }), fc.nat(), (trace, shares, seed) => {
        const pair = new Pair(trace)
        pair.run(trace)
        // Who asked before, and does not now, has its wait to sit out.
        pair.wait(trace.windowMs / 10)
        pair.invariants()
        pair.keepWeights()
        const names = [...pair.plain.tenants.keys()].filter((name) => name !== OVERFLOW)
        const asking = names.filter((_, i) => ((seed >> i) & 1) === 1)
        const cost = (i: number): number => Math.max(trace.limit / 100, Math.round(shares[i]! * trace.limit) / 4)
        let refused = 0
        for (let i = 0; refused < 2 * asking.length; i = (i + 1) % asking.length)
          refused = pair.check(asking[i]!, cost(i)).allowed ? 0 : refused + 1
        let held = 0
        for (const [name, tenant] of pair.plain.tenants) {
          const i = asking.indexOf(name)
          if (i < 0 || cost(i) > tenant.weight * pair.plain.level - tenant.carried) held += pair.plain.claim(tenant)
        }
        const largest = Math.max(0, ...asking.map((_, i) => cost(i)))
        // A check may be off by the tolerance, and so may what is left and what is claimed, as the invariants allow.
        if (asking.length > 0) expect(pair.plain.left).toBeLessThan(largest + held + 3 * pair.plain.tolerance)
      }),
      propertyRuns(),
    )
  })
})
