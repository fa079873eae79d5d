import { describe, expect, it, vi } from 'vitest'
import type { Decision, Permit } from '../admission/decision.js'
import { refuse } from '../admission/refusal.js'
import type { Stage } from '../admission/stage.js'
import { createGate, type GateOptions } from '../create-gate.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock } from '../testing/manual-clock.js'
import type { EscrowSnapshot } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { budgetStage, type Escrow, escrow } from './mechanism.js'

function gateOf(options: GateOptions = {}) {
  const clock = manualClock()
  // FAIR learns from the failures here; with this random number it refuses nothing.
  const random = () => 0.999
  const gate = createGate({ budget: escrow({ limit: 100, windowMs: 1000 }), clock, random, ...options })
  const admit = (flow: string, cost: number, exempt = false): Decision => {
    const decision = gate.admit({ flow, cost, exempt })
    if (decision instanceof Promise) throw new Error('expected an answer at once')
    return decision
  }
  const permit = (flow: string, cost: number): Permit => {
    const decision = admit(flow, cost)
    if (!decision.admitted) throw new Error(`refused: ${decision.reason}`)
    return decision
  }
  const budget = () => gate.snapshot().stages['budget'] as EscrowSnapshot
  return { clock, gate, admit, permit, budget }
}

/** A stage that refuses every request. */
const wall: Stage = { name: 'wall', admit: () => refuse('wall', 'overload', true, 1000) }

describe('the budget of a gate', () => {
  it('refuses what is over the share, as the tenant’s own affair', () => {
    const { admit, gate } = gateOf()
    admit('b', 1)
    admit('a', 50)
    expect(admit('a', 20)).toMatchObject({
      admitted: false,
      stage: 'budget',
      reason: 'over-share',
      shortage: false,
      retryAfterMs: 50,
      detail: { guarantee: 50, resetAfterMs: 1000 },
    })
    expect(admit('a', 101)).toMatchObject({ reason: 'never', retryAfterMs: Number.POSITIVE_INFINITY })
    expect(admit('a', Number.MAX_VALUE)).toMatchObject({ reason: 'never' })
    admit('b', 49)
    expect(admit('b', 1)).toMatchObject({ reason: 'exhausted', shortage: false, retryAfterMs: 1000 })
    expect(gate.snapshot().stages['fair']).toMatchObject({ failures: 0 })
  })

  it('settles what a request really cost', () => {
    const { permit, budget } = gateOf()
    permit('a', 30).finish('success', { cost: 12 })
    expect(budget().used).toBe(12)
    permit('a', 10).finish('success', { cost: 40 })
    expect(budget().used).toBe(52)
    permit('a', 10).finish('success', { cost: 0 })
    permit('a', 7).finish('success')
    expect(budget().used).toBe(59)
  })

  it('charges what was ignored, and not what failed, unless the caller says a cost', () => {
    const { permit, budget } = gateOf()
    permit('a', 10).finish('ignored')
    expect(budget().used).toBe(10)
    permit('a', 10).finish('failure')
    expect(budget().used).toBe(10)
    permit('a', 10).finish('failure', { cost: 3 })
    permit('a', 10).finish('ignored', { cost: 4 })
    expect(budget().used).toBe(17)
  })

  it('gives back what a later stage refuses', async () => {
    const { gate, budget, permit } = gateOf({ queue: requestQueue({ concurrency: 1, maxWaiting: 1 }) })
    const running = permit('a', 10)
    const waiting = gate.admit({ flow: 'b', cost: 20 })
    expect(budget().used).toBe(30)
    const refused = await gate.admit({ flow: 'b', cost: 20 })
    expect(refused).toMatchObject({ admitted: false, stage: 'queue' })
    expect(budget().used).toBe(30)
    gate.close()
    await waiting
    expect(budget().used).toBe(10)
    running.finish('success')
  })

  it('comes after the stages of one’s own: what they refuse costs nothing', () => {
    const { admit, budget } = gateOf({ stages: [wall] })
    expect(admit('a', 10)).toMatchObject({ stage: 'wall' })
    expect(budget()).toMatchObject({ used: 0, allowed: 0 })
  })

  it('lets exempt requests pass, and spends nothing on them', () => {
    const { admit, budget } = gateOf()
    admit('a', 100)
    expect(admit('health', 5, true)).toMatchObject({ admitted: true })
    expect(budget().used).toBe(100)
  })

  it('answers as onError says if weightOf throws', () => {
    const weightOf = (): number => {
      throw new Error('no plan')
    }
    const options = { limit: 100, windowMs: 1000, weightOf }
    expect(gateOf({ budget: escrow(options) }).admit('a', 1)).toMatchObject({ admitted: true })
    expect(gateOf({ budget: escrow({ ...options, onError: 'refuse' }) }).admit('a', 1)).toMatchObject({
      admitted: false,
      stage: 'budget',
      reason: 'error',
    })
  })

  it('takes an escrow that others use, too', () => {
    const shared = new WeightedFairEscrow({ limit: 10, windowMs: 1000, clock: manualClock() })
    const one = gateOf({ budget: budgetStage(shared) })
    const two = gateOf({ budget: budgetStage(shared) })
    one.admit('a', 6)
    expect(two.admit('a', 6)).toMatchObject({ admitted: false, reason: 'exhausted' })
  })

  it('waits for an escrow that has to ask somebody, and gives back what came too late', async () => {
    const inner = new WeightedFairEscrow({ limit: 10, windowMs: 1000, clock: manualClock() })
    const shared: Escrow = {
      check: (tenant, cost) => Promise.resolve(inner.check(tenant, cost)),
      settle: () => Promise.reject(new Error('away')),
      refund: (decision) => Promise.resolve(inner.refund(decision as ReturnType<typeof inner.check>)),
      snapshot: () => inner.snapshot(),
    }
    const { gate } = gateOf({ budget: budgetStage(shared) })
    const permit = await gate.admit({ flow: 'a', cost: 4 })
    expect(permit.admitted).toBe(true)
    if (permit.admitted) permit.finish('success', { cost: 5 })
    const controller = new AbortController()
    const pending = gate.admit({ flow: 'a', cost: 4, signal: controller.signal })
    controller.abort()
    expect(await pending).toMatchObject({ reason: 'gone' })
    expect(inner.snapshot().used).toBe(4)
    expect(gate.snapshot().stageErrors).toBe(0)
  })

  it('tells a quota by the permit, and by the refusal, as long as its window lasts', () => {
    const { clock, admit, permit } = gateOf()
    const first = permit('a', 60)
    const quota = { policy: 'budget', guarantee: 100, windowMs: 1000, limit: 100, remaining: 40 }
    expect(first.quotas()).toEqual([{ ...quota, resetAfterMs: 1000 }])
    expect(admit('a', 50)).toMatchObject({ admitted: false, quota: { ...quota, resetAfterMs: 1000 } })
    clock.advance(400)
    expect(first.quotas()).toEqual([{ ...quota, resetAfterMs: 600 }])
    clock.advance(600)
    expect(first.quotas()).toEqual([])
  })

  it('counts the time that a request has waited after its budget was asked', async () => {
    const { clock, gate, permit } = gateOf({ queue: requestQueue({ concurrency: 1, maxWaiting: 1 }) })
    const running = permit('a', 10)
    const waiting = gate.admit({ flow: 'b', cost: 10 })
    clock.advance(300)
    running.finish('success')
    const late = (await waiting) as Permit
    clock.advance(100)
    expect(late.quotas()[0]?.resetAfterMs).toBe(600)
    gate.close()
  })

  it('tells none of what it has not judged', async () => {
    const { gate, admit } = gateOf({ stages: [{ name: 'other', admit: () => ({ finish: () => {}, undo: () => {} }) }] })
    const exempt = gate.admit({ flow: 'a', exempt: true }) as Permit
    expect(exempt.quotas()).toEqual([])
    expect(admit('a', 1)).toMatchObject({ admitted: true })
    const bare = createGate({ fair: false }).admit({ flow: 'a' }) as Permit
    expect(bare.quotas()).toEqual([])
  })

  it('tells none where nobody knows: the store is away', () => {
    const away = { ...new WeightedFairEscrow({ limit: 1, windowMs: 1000 }).peek('a'), reason: 'store-error' }
    const answers = [
      { ...away, allowed: true },
      { ...away, allowed: false },
    ]
    const shared: Escrow = { check: () => answers.shift()!, settle: vi.fn(), refund: vi.fn() }
    const { admit } = gateOf({ budget: budgetStage(shared) })
    expect((admit('a', 1) as Permit).quotas()).toEqual([])
    expect(admit('a', 1)).toMatchObject({ reason: 'store-error', quota: undefined })
  })

  it('refuses bad options by name', () => {
    const make = (budget: object) => () => createGate({ budget: escrow(budget as never) })
    expect(make({ limit: 100, windowMs: 1000, limits: 3 })).toThrow('budget has no option "limits"')
    expect(make({ limit: -1, windowMs: 1000 })).toThrow('limit must be a number > 0')
    expect(make({ limit: 1, windowMs: 1000, onError: 'shrug' })).toThrow('onError must be one of')
    expect(() => budgetStage({ check: () => {} } as never)).toThrow('budget.settle must be a function')
    expect(() => budgetStage(null as never)).toThrow('budget.check must be a function, got undefined')
    const shared = new WeightedFairEscrow({ limit: 1, windowMs: 1000 })
    const stage = (options: object) => () => budgetStage(shared, options)
    expect(stage({ name: '' })).toThrow('name must be a non-empty string, got ""')
    expect(stage({ title: 'org' })).toThrow(
      'budgetStage has no option "title"; it knows dryRun, name, onError, tenantOf, windowMs',
    )
    expect(stage({ onError: 'shrug' })).toThrow('onError must be one of')
    expect(stage({ tenantOf: 'org' })).toThrow('tenantOf must be a function')
    expect(stage({ windowMs: 0 })).toThrow('windowMs must be a number > 0, got 0')
    expect(() => createGate({ stages: [budgetStage(shared), budgetStage(shared)] })).toThrow('distinct names')
    expect(() => escrow(null as never)).toThrow('budget must be an object')
    const plain = { limit: 1, windowMs: 1000 }
    expect(() => createGate({ budget: plain as never })).toThrow('budget must be made by escrow(), got an object')
  })
})

describe('several budgets in one gate', () => {
  /** Keys like `acme/7` have 100 each, their organisations 150, per second. */
  function budgets() {
    const clock = manualClock()
    const org = new WeightedFairEscrow({ limit: 150, windowMs: 1000, reserve: 'strict', clock })
    const key = new WeightedFairEscrow({ limit: 100, windowMs: 1000, reserve: 'strict', clock })
    const tenantOf = (flow: string): string => flow.split('/')[0] ?? flow
    const stages = [budgetStage(org, { name: 'org', tenantOf }), budgetStage(key, { name: 'key' })]
    const used = () => [org.snapshot().used, key.snapshot().used]
    return { ...gateOf({ budget: false, stages }), used, org, key }
  }

  it('spend from each, under the names of their own tenants', () => {
    const { permit, used, org, key } = budgets()
    permit('acme/7', 30)
    permit('acme/8', 20)
    expect(used()).toEqual([50, 50])
    expect(org.snapshot().heaviest.map(({ tenant }) => tenant)).toEqual(['acme'])
    expect(key.snapshot().heaviest.map(({ tenant }) => tenant)).toEqual(['acme/7', 'acme/8'])
  })

  it('charge a flow from which no tenant can be made as a tenant of its own: there is no way around them', () => {
    const { admit, permit, used, gate, org } = budgets()
    permit('/x', 100)
    expect(admit('/x', 51)).toMatchObject({ admitted: false, stage: 'org' })
    expect(org.snapshot().heaviest.map(({ tenant }) => tenant)).toEqual(['/x'])
    gate.resetFlow('/x')
    expect(used()).toEqual([100, 100])
    expect(gate.snapshot()).toMatchObject({ stageErrors: 0 })
    const none = budgetStage(new WeightedFairEscrow({ limit: 1, windowMs: 1000 }), {
      tenantOf: () => undefined as never,
    })
    const two = createGate({ fair: false, stages: [none] })
    expect([two.admit({ flow: 'a' }), two.admit({ flow: 'a' })]).toMatchObject([
      { admitted: true },
      { admitted: false },
    ])
  })

  it('admit only what all allow, and what one refuses costs the others nothing', () => {
    const { admit, permit, used } = budgets()
    permit('acme/7', 100)
    expect(admit('acme/7', 1)).toMatchObject({
      stage: 'key',
      reason: 'exhausted',
      quota: { policy: 'key', remaining: 0 },
    })
    expect(used()).toEqual([100, 100])
    expect(admit('acme/7', 51)).toMatchObject({ stage: 'org', quota: { policy: 'org', remaining: 50 } })
    expect(used()).toEqual([100, 100])
  })

  it('are each settled, and tell their quotas in the order of the stages', () => {
    const { permit, used } = budgets()
    const one = permit('acme/7', 60)
    expect(one.quotas().map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['org', 90],
      ['key', 40],
    ])
    one.finish('success', { cost: 25 })
    expect(used()).toEqual([25, 25])
    permit('acme/8', 10).finish('failure')
    expect(used()).toEqual([25, 25])
  })

  it('have snapshots of their own, and an escrow that cannot tell its window is told', () => {
    const { gate } = budgets()
    expect(gate.snapshot().stages).toMatchObject({ org: { limit: 150 }, key: { limit: 100 } })
    const inner = new WeightedFairEscrow({ limit: 10, windowMs: 1000, clock: manualClock() })
    const escrow: Escrow = { check: (tenant, cost) => inner.check(tenant, cost), settle: vi.fn(), refund: vi.fn() }
    const windowOf = (stage: Stage): number | undefined =>
      gateOf({ budget: false, stages: [stage] })
        .permit('a', 1)
        .quotas()[0]?.windowMs
    expect(windowOf(budgetStage(escrow))).toBeUndefined()
    expect(windowOf(budgetStage(escrow, { windowMs: 1000 }))).toBe(1000)
  })
})

describe('a dry run', () => {
  it('judges as if it were in earnest, refuses nobody, counts, and tells clients nothing', () => {
    const budget = { limit: 100, windowMs: 1000 }
    const dry = gateOf({ budget: escrow({ ...budget, dryRun: true }) })
    const real = gateOf({ budget: escrow(budget) })
    let refused = 0
    for (let at = 0; at < 60; at++) {
      const [flow, cost] = [`t${at % 3}`, 1 + (at % 7)]
      if (!real.admit(flow, cost).admitted) refused++
      const decision = dry.permit(flow, cost)
      expect(decision.quotas()).toEqual([])
      expect(dry.budget()).toEqual({ ...real.budget(), wouldRefuse: refused })
    }
    expect(refused).toBeGreaterThan(10)
  })

  it('admits whatever becomes of weightOf, and settles what it spent', () => {
    const weightOf = (flow: string): number => (flow === 'bad' ? Number.NaN : 1)
    const { permit, budget } = gateOf({
      budget: escrow({ limit: 100, windowMs: 1000, weightOf, onError: 'refuse', dryRun: true }),
    })
    permit('bad', 1)
    permit('a', 60).finish('success', { cost: 20 })
    permit('a', 101).finish('success')
    expect(budget()).toMatchObject({ used: 20, wouldRefuse: 1 })
    expect(() => gateOf({ budget: escrow({ limit: 1, windowMs: 1, dryRun: 1 as never }) })).toThrow(
      'dryRun must be true or false',
    )
  })
})
