import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import type { EscrowDecision } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { PlainEscrow } from './fixtures/plain-escrow.js'
import { propertyRuns } from './fixtures/property-runs.js'
import { type Trace, traces } from './fixtures/trace.js'

/** An escrow and the plain rule, side by side. */
class Pair {
  readonly clock = manualClock(12_345_678)
  readonly weights: Map<string, number>
  readonly escrow: WeightedFairEscrow
  readonly plain: PlainEscrow
  readonly decisions: EscrowDecision[] = []
  /** The clock without its jumps back. */
  nowMs = 12_345_678

  constructor({ limit, windowMs, reserve, maxTenants, weights }: Trace) {
    this.weights = new Map(weights.map((weight, i) => [`t${i}`, weight]))
    const weightOf = (tenant: string): number => this.weights.get(tenant) ?? 1
    this.escrow = new WeightedFairEscrow({ limit, windowMs, reserve, maxTenants, weightOf, clock: this.clock })
    this.plain = new PlainEscrow(limit, windowMs, reserve, maxTenants)
  }

  wait(afterMs: number): void {
    this.clock.advance(afterMs)
    this.nowMs += Math.max(0, afterMs)
  }

  /** A cost at the very edge of the tolerance may be judged either way: then the trace ends. */
  check(tenant: string, cost: number): boolean {
    const peeked = this.escrow.peek(tenant, cost)
    const decision = this.escrow.check(tenant, cost)
    expect({ ...peeked }).toEqual({ ...decision })
    this.decisions.push(decision)
    const { allowed, reason, guarantee } = this.plain.check(tenant, this.weights.get(tenant)!, cost, this.nowMs)
    const got = decision.reason ?? (decision.borrowed ? 'borrows' : 'within')
    expect({ tenant, got, allowed: decision.allowed }).toEqual({ tenant, got: reason, allowed })
    expect(Math.abs(decision.guarantee - guarantee)).toBeLessThan(1e-9 * this.plain.limit)
    return true
  }

  settle(which: number, factor: number): void {
    const decision = this.decisions[this.decisions.length - 1 - which]
    if (decision === undefined) return
    const actual = decision.cost * factor
    const { settled, unpaid } = this.escrow.settle(decision, actual)
    this.plain.advance(this.nowMs)
    if (!settled) return
    const left = this.plain.settle(this.plain.find(decision.tenant), actual - decision.cost, this.nowMs)
    expect(unpaid).toBeCloseTo(actual === decision.cost ? 0 : Math.max(0, left), 6)
  }

  /** What must always hold. */
  invariants(): void {
    const { used, limit, remaining, reserved } = this.escrow.snapshot()
    const slack = this.plain.tolerance
    expect(used).toBeLessThanOrEqual(limit + slack)
    expect(reserved).toBeLessThanOrEqual(Math.max(0, remaining) + slack)
    expect(remaining).toBeCloseTo(this.plain.left, 6)
    expect(Math.abs(reserved - this.plain.claims())).toBeLessThan(slack)
  }

  run({ steps }: Trace): void {
    for (const step of steps) {
      this.wait(step.afterMs)
      if (step.type === 'check') this.check(step.tenant, step.cost)
      else if (step.type === 'reweigh') this.weights.set(step.tenant, step.weight)
      else this.settle(step.which, step.factor)
      this.plain.advance(this.nowMs)
      this.invariants()
    }
  }
}

describe.each(['whole', 'fractions'] as const)('over random traces of %s numbers', (kind) => {
  it('decides as the plain rule does', () => {
    fc.assert(
      fc.property(traces(kind), (trace) => new Pair(trace).run(trace)),
      propertyRuns(),
    )
  }, 3_600_000)
})
