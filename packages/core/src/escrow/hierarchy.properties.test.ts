import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import type { EscrowDecision } from '../decision.js'
import { WeightedFairEscrow } from '../escrow.js'
import { must } from '../fixtures/must.js'
import { propertyRuns } from '../fixtures/property-runs.js'
import { type Trace, traces } from '../fixtures/trace.js'
import { type PlainAnswer, PlainHierarchy, type PlainNode } from './fixtures/plain-hierarchy.js'
import { type Grouping, groupings, treeOf } from './fixtures/trees.js'
import { HierarchicalFairEscrow } from './hierarchical-fair-escrow.js'
import { hierarchy } from './tree.js'

const show = (decision: EscrowDecision): string => JSON.stringify(decision)

/** A hierarchical escrow and the plain rule, side by side. */
class Pair {
  readonly clock = manualClock(12_345_678)
  readonly escrow: HierarchicalFairEscrow
  readonly plain: PlainHierarchy
  readonly decisions: EscrowDecision[] = []
  /** By the end of the window. */
  readonly given: Map<number, number> = new Map()
  /** The clock without its jumps back. */
  nowMs = 12_345_678

  constructor({ limit, windowMs, reserve, weights }: Trace, grouping: Grouping) {
    const tree = treeOf(weights, grouping)
    this.escrow = new HierarchicalFairEscrow({ limit, windowMs, reserve, tree: hierarchy(tree), clock: this.clock })
    this.plain = new PlainHierarchy(tree, limit, windowMs, reserve)
  }

  wait(afterMs: number): void {
    this.clock.advance(afterMs)
    this.nowMs += Math.max(0, afterMs)
  }

  check(tenant: string, cost: number): EscrowDecision {
    const peeked = this.escrow.peek(tenant, cost)
    const decision = this.escrow.check(tenant, cost)
    must(this.#areSame(peeked, decision), () => `peek ${show(peeked)}, check ${show(decision)}`)
    if (decision.remaining > 0)
      must(this.escrow.peek(tenant, decision.remaining).allowed, () => `not what remains after ${show(decision)}`)
    if (decision.allowed) this.#account(decision.resetAtMs, cost)
    this.decisions.push(decision)
    const answer = this.plain.check(tenant, cost, this.nowMs)
    const { allowed, reason, guarantee } = answer
    const got = decision.reason ?? (decision.borrowed ? 'borrows' : 'within')
    must(got === reason && decision.allowed === allowed, () => `expected ${reason}, got ${show(decision)}`)
    // Late in a window, claims hardly depend on guarantees: so exact are claims, and guarantees no more than that.
    const wrong = Math.abs(decision.guarantee - guarantee) * (1 - this.plain.tau)
    must(wrong <= this.plain.tolerance, () => `expected a guarantee of ${guarantee}, got ${show(decision)}`)
    if (!allowed) this.#told(decision, answer)
    return decision
  }

  /** When there will be enough, if others' claims go on fading as they do now; unless that is never or much later. */
  #told(decision: EscrowDecision, { reason, mayBorrow, lack, fades }: PlainAnswer): void {
    const { startMs, atMs, windowMs, left, tolerance, paced } = this.plain
    const toldMs = decision.retryAfterMs
    const restMs = Math.max(0, startMs + windowMs - atMs)
    const latestMs = Math.max(1, left <= tolerance ? restMs : Math.min(restMs, windowMs / 20))
    const expected = (fade: number): number => Math.min(latestMs, Math.max(1, lack / Math.max(fade, 0)))
    const isNear = (oneMs: number, otherMs: number): boolean => Math.abs(oneMs - otherMs) <= 1e-3 * (1 + otherMs)
    const told = (): string => `told ${toldMs}, lacks ${lack}, fades by ${fades}: ${show(decision)}`
    if (reason === 'never') must(toldMs === Number.POSITIVE_INFINITY, told)
    else if (reason === 'exhausted' || left <= tolerance || !paced || !mayBorrow) must(isNear(toldMs, latestMs), told)
    else
      must(
        fades.some((fade) => isNear(toldMs, expected(fade))),
        told,
      )
  }

  /** But for rounding: what was worked out once is used again. */
  #areSame(one: EscrowDecision, two: EscrowDecision): boolean {
    const isNear = (a: number, b: number): boolean => a === b || Math.abs(a - b) <= this.plain.tolerance
    return (
      one.reason === two.reason &&
      one.borrowed === two.borrowed &&
      isNear(one.limit, two.limit) &&
      isNear(one.remaining, two.remaining) &&
      isNear(one.guarantee, two.guarantee) &&
      (one.retryAfterMs === two.retryAfterMs || Math.abs(one.retryAfterMs - two.retryAfterMs) <= 1e-3)
    )
  }

  settle(which: number, factor: number): void {
    const decision = this.decisions[this.decisions.length - 1 - which]
    if (decision === undefined) return
    const actual = decision.cost * factor
    const { settled, unpaid } = this.escrow.settle(decision, actual)
    if (settled) this.#account(decision.resetAtMs, actual - decision.cost - unpaid)
    this.plain.advance(this.nowMs)
    if (!settled) return
    const left = this.plain.settle(decision.tenant, actual - decision.cost, this.nowMs)
    must(Math.abs(unpaid - left) <= this.plain.tolerance, () => `expected ${left} unpaid, got ${unpaid}`)
  }

  /** T1, by an account of our own: what was given out in a window, less what came back, never exceeds the limit. */
  #account(windowEndMs: number, cost: number): void {
    const given = (this.given.get(windowEndMs) ?? 0) + cost
    this.given.set(windowEndMs, given)
    must(given <= this.plain.limit + this.plain.tolerance, () => `gave out ${given}`)
  }

  /** What must always hold. */
  invariants(): void {
    this.plain.advance(this.nowMs)
    const { used, limit, remaining, reserved } = this.escrow.snapshot()
    const slack = this.plain.tolerance
    const claimed = this.plain.claims(this.plain.root.children)
    must(used <= limit + slack, () => `used ${used}`)
    must(reserved <= Math.max(0, remaining) + slack, () => `kept ${reserved} of ${remaining}`)
    must(Math.abs(remaining - this.plain.left) <= slack, () => `${remaining} left, not ${this.plain.left}`)
    must(Math.abs(reserved - claimed) <= slack, () => `kept ${reserved}, not ${claimed}`)
  }

  run({ steps }: Trace): void {
    for (const step of steps) {
      this.wait(step.afterMs)
      if (step.type === 'check') this.check(step.tenant, step.cost)
      else if (step.type === 'settle') this.settle(step.which, step.factor)
      this.invariants()
    }
  }

  /** What each tenant may claim. */
  claims(): Map<string, number> {
    return new Map([...this.plain.tenants].map(([name, tenant]) => [name, this.plain.ownClaim(tenant)]))
  }
}

/** Whether `tenant` is somewhere in `group`. */
function isIn(tenant: PlainNode, group: PlainNode): boolean {
  return tenant === group || (tenant.parent !== undefined && isIn(tenant.parent, group))
}

/** A share of the limit. */
const share = fc.double({ min: 0, max: 1, noNaN: true })

describe.each(['whole', 'fractions'] as const)('a hierarchy, over random traces of %s numbers', (kind) => {
  it('decides as the plain rule does', () => {
    fc.assert(
      fc.property(traces(kind, 20), groupings, (trace, grouping) => new Pair(trace, grouping).run(trace)),
      propertyRuns(),
    )
  })

  it('T2: claims are admitted at once, in any order; others’ costs, and arrivals elsewhere, take nothing off them', () => {
    const asks = fc.array(fc.tuple(fc.nat(50), fc.nat(50), share), { maxLength: 20 })
    fc.assert(
      fc.property(traces(kind), groupings, asks, (trace, grouping, questions) => {
        const pair = new Pair(trace, grouping)
        const { plain } = pair
        pair.run(trace)
        const names = [...plain.tenants.keys()]
        let claims = pair.claims()
        for (const [owner, other, part] of questions) {
          const name = names[owner % names.length]!
          const greedy = names[other % names.length]!
          // Who comes lowers the level of the lowest group in which somebody was active, for those in there.
          const branch = plain.path(plain.tenants.get(greedy)!).findLast(({ active }) => !active)
          pair.check(greedy, Math.max(trace.limit / 100, part * trace.limit))
          const now = pair.claims()
          for (const [tenant, claim] of claims) {
            const spared = branch === undefined || !isIn(plain.tenants.get(tenant)!, branch.parent!)
            if (tenant !== greedy && spared)
              must(now.get(tenant)! >= claim - plain.tolerance, () => `${greedy} took ${tenant}’s claim of ${claim}`)
          }
          const claim = now.get(name)!
          if (claim > 1e-3) expect(pair.check(name, claim)).toMatchObject({ allowed: true, borrowed: false })
          pair.invariants()
          claims = pair.claims()
        }
        // All of them, one after the other.
        for (const [name, claim] of claims) if (claim > 1e-3) expect(pair.check(name, claim).allowed).toBe(true)
      }),
      propertyRuns(),
    )
  })

  it('is the flat escrow in its first window, decision for decision, if only tenants have weights', () => {
    fc.assert(
      fc.property(traces(kind), groupings, (trace, { sizes }) => {
        const { limit, windowMs, reserve, weights } = trace
        const clock = manualClock()
        const weightOf = (tenant: string): number => weights[Number(tenant.slice(1))]!
        const flat = new WeightedFairEscrow({ limit, windowMs, reserve, weightOf, estimates: 'asked', clock })
        const tree = hierarchy(treeOf(weights, { sizes, weights: [0] }))
        const deep = new HierarchicalFairEscrow({ limit, windowMs, reserve, tree, clock })
        const decisions: [EscrowDecision, EscrowDecision][] = []
        const slack = Math.min(1e-3, 1e-9 * limit)
        const mustBeNear = (one: number, two: number): void =>
          must(Math.abs(one - two) <= slack, () => `${one}, ${two}`)
        let passedMs = 0
        for (const step of trace.steps) {
          clock.advance(step.afterMs)
          passedMs += Math.max(0, step.afterMs)
          // The flat one remembers the last window.
          if (passedMs >= windowMs) return
          if (step.type === 'check') {
            const one = flat.check(step.tenant, step.cost)
            const two = deep.check(step.tenant, step.cost)
            const isSame = one.reason === two.reason && one.borrowed === two.borrowed
            must(isSame, () => `flat ${show(one)}, deep ${show(two)}`)
            mustBeNear(one.guarantee, two.guarantee)
            mustBeNear(one.remaining, two.remaining)
            decisions.push([one, two])
          } else if (step.type === 'settle') {
            const pair = decisions[decisions.length - 1 - step.which]
            if (pair === undefined) continue
            const actual = pair[0].cost * step.factor
            expect(deep.settle(pair[1], actual).settled).toBe(flat.settle(pair[0], actual).settled)
          }
          mustBeNear(deep.snapshot().reserved, flat.snapshot().reserved)
        }
      }),
      propertyRuns(),
    )
  })
})
