import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { steady } from '../clock.js'
import { manualClock } from '../testing/manual-clock.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { PlainEscrow } from './fixtures/plain-escrow.js'
import { type PlainAnswer, type PlainNode, SHARED } from './fixtures/plain-parts.js'
import {
  FLAT,
  type Grouping,
  groupings,
  isStranger,
  must,
  SUMMED,
  type Trace,
  traces,
  treeOf,
  withoutStrangers,
} from './fixtures/trace.js'
import { hierarchy } from './hierarchy.js'

/** Does not shrink a failing trace, which would take minutes. Its seed and path run it again. */
const RUNS = { ...propertyRuns(), endOnFailure: true }

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
  /** The clock without its steps back. */
  readonly #steady = steady(this.clock)

  constructor({ limit, windowMs, reserve, maxTenants, weights }: Trace, grouping: Grouping) {
    this.weights = new Map(weights.map((weight, i) => [`t${i}`, weight]))
    const weightOf = (tenant: string): number => this.weights.get(tenant) ?? 1
    const tree = treeOf(weights, grouping)
    const named = (tenant: string): boolean => !isStranger(tenant, grouping)
    const options = { limit, windowMs, reserve, maxTenants, weightOf, estimates: 'asked', clock: this.clock } as const
    const [known, groupOf] = withoutStrangers(tree, grouping)
    this.escrow = new WeightedFairEscrow({
      ...options,
      ...(grouping !== FLAT && { tree: hierarchy(known), groupOf: (tenant) => groupOf.get(tenant) }),
    })
    this.plain = new PlainEscrow({ tree, limit, windowMs, reserve, named, maxTenants })
    // Before the first request, there is nothing to remember.
    this.plain.begin(Math.floor(this.nowMs / windowMs) * windowMs)
  }

  get nowMs(): number {
    return this.#steady()
  }

  wait(afterMs: number): void {
    this.clock.advance(afterMs)
    this.#steady()
  }

  check(tenant: string, cost: number): EscrowDecision {
    const peeked = this.escrow.peek(tenant, cost)
    const decision = this.escrow.check(tenant, cost)
    must(this.#areSame(peeked, decision), () => `peek ${show(peeked)}, check ${show(decision)}`)
    if (decision.remaining > 0)
      must(this.escrow.peek(tenant, decision.remaining).allowed, () => `not what remains after ${show(decision)}`)
    if (decision.allowed) this.#account(decision.resetAtMs, cost)
    this.decisions.push(decision)
    const answer = this.plain.check(tenant, this.weights.get(tenant)!, cost, this.nowMs, decision.retryAfterMs)
    const { allowed, reason, guarantee } = answer
    const got = decision.reason ?? (decision.borrowed ? 'borrows' : 'within')
    must(got === reason && decision.allowed === allowed, () => `expected ${reason}, got ${show(decision)}`)
    // Late in a window, claims hardly depend on guarantees: claims are this exact, and guarantees no more than that. Each
    // amount that is lent is exact to the tolerance, and a guarantee follows from several.
    const wrong = Math.abs(decision.guarantee - guarantee) * (1 - this.plain.tau)
    must(wrong <= 2 * this.plain.tolerance, () => `expected a guarantee of ${guarantee}, got ${show(decision)}`)
    if (!allowed) this.#told(decision, answer)
    if (!allowed && reason !== 'never') this.plain.told(tenant, this.weights.get(tenant)!, decision.retryAfterMs, cost)
    return decision
  }

  /** Equal up to rounding: intermediate results are reused. */
  #areSame(one: EscrowDecision, two: EscrowDecision): boolean {
    const isNear = (a: number, b: number): boolean => a === b || Math.abs(a - b) <= 2 * this.plain.tolerance
    return (
      one.reason === two.reason &&
      one.borrowed === two.borrowed &&
      isNear(one.limit, two.limit) &&
      isNear(one.remaining, two.remaining) &&
      isNear(one.guarantee, two.guarantee) &&
      (one.retryAfterMs === two.retryAfterMs || Math.abs(one.retryAfterMs - two.retryAfterMs) <= 1e-3)
    )
  }

  #told(decision: EscrowDecision, answer: PlainAnswer): void {
    const { reason, mayBorrow } = answer
    const { startMs, atMs, windowMs, left, tolerance, paced } = this.plain
    const toldMs = decision.retryAfterMs
    const restMs = Math.max(0, startMs + windowMs - atMs)
    const latestMs = Math.max(1, left <= tolerance ? restMs : Math.min(restMs, windowMs / 20))
    const told = (): string => `told ${toldMs}, at most ${latestMs}: ${show(decision)}`
    const hasGroups = this.plain.root.children.some(({ isTenant }) => !isTenant)
    if (reason === 'never') must(toldMs === Number.POSITIVE_INFINITY, told)
    else if (reason === 'exhausted' || left <= tolerance || !paced) must(Math.abs(toldMs - latestMs) < 1e-6, told)
    else if (hasGroups)
      must(mayBorrow ? this.#isToldByFading(toldMs, latestMs, answer) : Math.abs(toldMs - latestMs) < 1e-6, told)
    else must(this.#isToldExactly(toldMs, latestMs, answer), told)
  }

  /** Not earlier than enough will be free, and no later, unless that is much later. */
  #isToldExactly(toldMs: number, latestMs: number, { lacks: [before, then] }: PlainAnswer): boolean {
    const slack = 2 * this.plain.tolerance
    if (toldMs < 1 || toldMs >= latestMs + 1e-6) return false
    if (Math.abs(toldMs - latestMs) >= 1e-6 && then > slack) return false
    return toldMs === 1 || before >= -slack
  }

  /** When enough will be free, if others' claims go on fading as they do now; unless that is never or much later. */
  #isToldByFading(toldMs: number, latestMs: number, { lack, fades }: PlainAnswer): boolean {
    const expected = (fade: number): number => Math.min(latestMs, Math.max(1, lack / Math.max(fade, 0)))
    const [soonest, latest] = fades.map(expected).sort((a, b) => a - b) as [number, number]
    return toldMs >= soonest * (1 - 1e-3) - 1e-3 && toldMs <= latest * (1 + 1e-3) + 1e-3
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
    const change = actual - decision.cost
    const [least, most] = this.plain.chargeable(decision.tenant, Math.max(0, change), this.nowMs)
    const [charged, slack] = [Math.max(0, change) - unpaid, 2 * this.plain.tolerance]
    must(charged >= least - slack && charged <= most + slack, () => `charged ${charged}, not ${least} to ${most}`)
    this.plain.settle(decision.tenant, change, unpaid, this.nowMs)
  }

  /** T1, by a separate account: grants in a window, less refunds, never exceed the limit. */
  #account(windowEndMs: number, cost: number): void {
    const given = (this.given.get(windowEndMs) ?? 0) + cost
    this.given.set(windowEndMs, given)
    must(given <= this.plain.limit + this.plain.tolerance * SUMMED, () => `gave out ${given}`)
  }

  /** Weights no longer change: a change would be an event that changes claims. */
  keepWeights(): void {
    for (const { name, weight } of this.plain.active) this.weights.set(name, weight)
  }

  /** Invariants at any time. */
  invariants(): void {
    this.plain.advance(this.nowMs)
    const { used, limit, remaining, reserved } = this.escrow.snapshot()
    const slack = this.plain.tolerance * SUMMED
    const claims = this.plain.claims()
    must(used <= limit + slack, () => `used ${used}`)
    must(reserved <= Math.max(0, remaining) + slack, () => `kept ${reserved} of ${remaining}`)
    must(Math.abs(remaining - this.plain.left) <= slack, () => `${remaining} left, not ${this.plain.left}`)
    // Both are sums over all tenants and levels, and round at each step of a long trace.
    must(Math.abs(reserved - claims) <= 10 * slack, () => `kept ${reserved}, not ${claims}`)
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

  /** Active tenants that have a place of their own, by name. */
  get names(): string[] {
    return this.plain.active.map(({ name }) => name).filter((name) => name !== SHARED)
  }

  /** Its claim, of which it pays its debt first. */
  claimOf(name: string): number {
    const tenant = this.plain.tenants.get(name)!
    return Math.max(0, this.plain.ownClaim(tenant) - tenant.debt)
  }

  claims(): Map<string, number> {
    return new Map(this.names.map((name) => [name, this.claimOf(name)]))
  }
}

/** Whether `tenant` is somewhere in `group`. */
function isIn(tenant: PlainNode, group: PlainNode): boolean {
  return tenant === group || (tenant.parent !== undefined && isIn(tenant.parent, group))
}

/**
 * If a group stood in line with the least cost that was refused in it, instead of that of its first tenant, t4 would
 * come after the group because of t1, t1 after t2, and t2 after t4.
 */
const OF_A_GROUP_THE_FIRST_COST: [Trace, Grouping, number[], number] = [
  {
    ...{ limit: 10, windowMs: 1000, reserve: 'strict', maxTenants: 4, weights: [1, 0.4, 0.1, 1, 0.1] },
    steps: [
      { type: 'check', afterMs: 331, tenant: 't1', cost: 0.01 },
      { type: 'reweigh', afterMs: 10, tenant: 't2', weight: 0.3 },
      { type: 'check', afterMs: 1021, tenant: 't3', cost: 1 },
      { type: 'reweigh', afterMs: 2, tenant: 't4', weight: 3.4 },
      { type: 'reweigh', afterMs: 4, tenant: 't3', weight: 0.14 },
      { type: 'check', afterMs: 108, tenant: 't2', cost: 0.47 },
      { type: 'reweigh', afterMs: 4, tenant: 't0', weight: 0.127 },
      { type: 'check', afterMs: 5, tenant: 't2', cost: 0.1 },
      { type: 'check', afterMs: 81, tenant: 't2', cost: 0.27 },
      { type: 'reweigh', afterMs: 8, tenant: 't2', weight: 3.7 },
      { type: 'check', afterMs: 26, tenant: 't2', cost: 0.13 },
      { type: 'check', afterMs: 13, tenant: 't1', cost: 1 },
      { type: 'check', afterMs: 101, tenant: 't2', cost: 0.6 },
      { type: 'check', afterMs: 432, tenant: 't3', cost: 0.4 },
      { type: 'check', afterMs: 180, tenant: 't0', cost: 0.05 },
      { type: 'check', afterMs: 51, tenant: 't0', cost: 0.3 },
      { type: 'check', afterMs: 37, tenant: 't4', cost: 0.01 },
      { type: 'check', afterMs: 48, tenant: 't2', cost: 1.1 },
    ],
  },
  { sizes: [4], weights: [3.5], strangers: 4 },
  [0, 1, ...Array<number>(18).fill(0)],
  21,
]

/** A share of the limit. */
const share = fc.double({ min: 0, max: 1, noNaN: true })
const asks = fc.array(fc.tuple(fc.nat(50), fc.nat(50), share), { maxLength: 20 })

describe.each([
  ['one group, whole numbers', fc.constant(FLAT), traces('whole')],
  ['one group, fractions', fc.constant(FLAT), traces('fractions')],
  ['a tree, whole numbers', groupings, traces('whole', 20)],
  ['a tree, fractions', groupings, traces('fractions', 20)],
] as const)('over random traces of %s', (_form, forms, randomTraces) => {
  it('decides as the plain rule does', () => {
    fc.assert(
      fc.property(randomTraces, forms, (trace, grouping) => new Pair(trace, grouping).run(trace)),
      RUNS,
    )
  })

  it('T2, T5: claims are admitted at once, in any order; others’ costs, and arrivals elsewhere, take nothing off them', () => {
    fc.assert(
      fc.property(randomTraces, forms, asks, (trace, grouping, questions) => {
        const pair = new Pair(trace, grouping)
        const { plain } = pair
        pair.run(trace)
        pair.keepWeights()
        // Claims are those of the plain rule as far as they are exact.
        const inexact = 8 * plain.tolerance
        let claims = pair.claims()
        for (const [owner, other, part] of questions) {
          const greedy = `t${other % trace.weights.length}`
          // A newcomer lowers the level of the lowest group with an active tenant, for the members of it.
          const branch = plain.path(plain.find(greedy)).findLast(({ active }) => !active)
          const lenders = new Set(plain.lending.costs.keys())
          pair.check(greedy, Math.max(trace.limit / 100, part * trace.limit))
          const now = pair.claims()
          for (const [tenant, claim] of claims) {
            const spared = branch === undefined || !isIn(plain.tenants.get(tenant)!, branch.parent!)
            // One that was refused more than its part lends its claim to another such tenant that comes before it.
            if (tenant !== greedy && spared && !lenders.has(plain.tenants.get(tenant)!))
              must(now.get(tenant)! >= claim - plain.tolerance, () => `${greedy} took ${tenant}’s claim of ${claim}`)
          }
          const name = pair.names[owner % pair.names.length]
          const claim = (now.get(name ?? '') ?? 0) - inexact
          if (name !== undefined && claim > 1e-3)
            expect(pair.check(name, claim)).toMatchObject({ allowed: true, borrowed: false })
          pair.invariants()
          claims = pair.claims()
        }
        // All of them, one after the other.
        for (const [name, claim] of claims)
          if (claim > 1e-3) expect(pair.check(name, claim - inexact).allowed).toBe(true)
      }),
      RUNS,
    )
  })

  it('T2: with time, a claim falls as an even pace would use it up, and in strict form not at all', () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.nat(50), share))
    fc.assert(
      fc.property(randomTraces, forms, gaps, (trace, grouping, questions) => {
        const pair = new Pair(trace, grouping)
        pair.run(trace)
        pair.keepWeights()
        const { plain, names } = pair
        for (const [afterMs, other, part] of questions) {
          const greedy = names[other % names.length]
          if (greedy === undefined || pair.nowMs + afterMs >= plain.startMs + trace.windowMs) return
          const before = pair.claims()
          const lenders = new Set(plain.lending.costs.keys())
          pair.wait(afterMs)
          pair.check(greedy, Math.max(1, part * trace.limit))
          for (const [name, claim] of before) {
            const { debt } = plain.tenants.get(name)!
            const due = Math.max(0, plain.guarantee(plain.tenants.get(name)!) * (1 - plain.tau) - debt)
            const kept = trace.reserve === 'strict' ? claim : Math.min(claim, due)
            if (name !== greedy && kept > 1e-3 && !lenders.has(plain.tenants.get(name)!))
              must(pair.escrow.peek(name, kept * (1 - 1e-9)).allowed, () => `${name} lost of ${kept}`)
          }
        }
      }),
      RUNS,
    )
  })

  it('T3: when all that ask are refused, less is left than one cost, and the claims of others', () => {
    const costs = fc.array(share, { minLength: 20, maxLength: 20 })
    fc.assert(
      fc.property(randomTraces, forms, costs, fc.nat(), (trace, grouping, shares, seed) => {
        const pair = new Pair(trace, grouping)
        pair.run(trace)
        // A tenant that asked before, and does not now, has to finish its wait; the clock may have gone back since.
        pair.wait(pair.nowMs - pair.clock() + trace.windowMs / 10)
        pair.invariants()
        pair.keepWeights()
        const { plain, names } = pair
        const asking = names.filter((_, i) => ((seed >> i) & 1) === 1)
        const cost = (i: number): number => Math.max(trace.limit / 100, Math.round(shares[i]! * trace.limit) / 4)
        let refused = 0
        for (let i = 0; refused < 2 * asking.length; i = (i + 1) % asking.length)
          refused = pair.check(asking[i]!, cost(i)).allowed ? 0 : refused + 1
        const isAsking = (name: string): boolean => {
          const i = asking.indexOf(name)
          const tenant = plain.tenants.get(name)
          return i >= 0 && cost(i) + tenant!.debt <= plain.guarantee(tenant!) - tenant!.carried
        }
        // In a group in which all active tenants ask and have released their claims, nothing is reserved.
        const held = (node: PlainNode): number => {
          if (!node.active || (node.isTenant && isAsking(node.name))) return 0
          if (node.isTenant) return plain.claim(node)
          const inside = node.children.reduce((sum, child) => sum + held(child), 0)
          return node === plain.root || plain.isReleased(node) ? inside : Math.max(inside, plain.ownClaim(node))
        }
        // A call costs its tenant's debt, too.
        const largest = Math.max(0, ...asking.map((name, i) => cost(i) + plain.tenants.get(name)!.debt))
        // A check may be off by the tolerance, and so may what is left and what is claimed, as the invariants allow.
        const most = largest + held(plain.root) + 3 * plain.tolerance
        if (asking.length > 0) expect(plain.left).toBeLessThan(most)
      }),
      { ...RUNS, examples: [OF_A_GROUP_THE_FIRST_COST] },
    )
  })
})
