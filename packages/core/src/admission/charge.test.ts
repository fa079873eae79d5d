import { describe, expect, it } from 'vitest'
import { createGate, type GateOptions } from '../create-gate.js'
import { LeasedFairEscrow, MemoryPoolStore, WeightedFairEscrow } from '../escrow/index.js'
import { budgetStage } from '../escrow/mechanism.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock, seededRandom } from '../testing/index.js'
import type { Permit } from './decision.js'
import type { Stage } from './stage.js'

const clock = manualClock()

async function permitOf(options: GateOptions, flow: string, cost: number): Promise<Permit> {
  const decision = await createGate({ fair: false, clock, ...options }).admit({ flow, cost })
  if (!decision.admitted) throw new Error(decision.reason)
  return decision
}

/** A stage whose holds write each call to `heard`. */
function listener(name: string, heard: string[]): Stage {
  return {
    name,
    admit: () => ({
      charge: (costSoFar) => void heard.push(`${name} ${costSoFar}`),
      finish: (outcome, cost) => void heard.push(`${name} ${outcome} ${cost}`),
      undo: () => {},
    }),
  }
}

describe('a charge while a request runs', () => {
  it('is told to every stage that charges, as the sum so far, and settled by it unless the end says otherwise', async () => {
    const heard: string[] = []
    const deaf: Stage = { name: 'deaf', admit: () => ({ finish: () => {}, undo: () => {} }) }
    const stages = [listener('a', heard), deaf, listener('b', heard)]
    const permit = await permitOf({ stages }, 'x', 10)
    permit.charge(4)
    permit.charge(0)
    permit.charge(7)
    permit.finish('success')
    permit.charge(1)
    expect(heard).toEqual(['a 4', 'b 4', 'a 11', 'b 11', 'a success 11', 'b success 11'])
    heard.length = 0
    const other = await permitOf({ stages }, 'x', 10)
    other.charge(11)
    other.finish('ignored', { cost: 3 })
    expect(heard.at(-1)).toBe('b ignored 3')
  })

  it.each<[string, (permit: Permit) => void, boolean]>([
    ['the end', (permit) => permit.finish('failure', { cost: 10 }), true],
    ['charges', (permit) => [permit.charge(10), permit.finish('failure')], true],
    ['no caller', (permit) => permit.finish('failure'), false],
  ])('tells a stage whether a caller named the cost: %s', async (_who, end, expected) => {
    const heard: unknown[] = []
    const stage: Stage = {
      name: 'own',
      admit: () => ({ finish: (_outcome, cost, _nowMs, isNamed) => heard.push([cost, isNamed]), undo: () => {} }),
    }
    end(await permitOf({ stages: [stage] }, 'x', 10))
    expect(heard).toEqual([[10, expected]])
  })

  it('is refused if it is no cost, and then it did not count', async () => {
    const permit = await permitOf({}, 'x', 10)
    for (const delta of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => permit.charge(delta)).toThrow(`delta must be a number >= 0, got ${delta}`)
  })

  it('harms no request if a stage throws', async () => {
    const gate = createGate({
      fair: false,
      stages: [
        {
          name: 'broken',
          admit: () => ({
            charge: () => {
              throw new Error('no')
            },
            finish: () => {},
            undo: () => {},
          }),
        },
      ],
    })
    const permit = gate.admit({ flow: 'x' }) as Permit
    permit.charge(1)
    expect(gate.snapshot().stages).toEqual({})
    expect(gate.snapshot().stageErrors).toBe(1)
  })
})

describe('a charge to a budget', () => {
  it('is spent as soon as it exceeds what was reserved, and settled at the end', async () => {
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: 1_000, clock })
    const permit = await permitOf({ budget: budgetStage(escrow) }, 'a', 10)
    const used = () => escrow.snapshot().used
    permit.charge(8)
    expect(used()).toBe(10)
    permit.charge(17)
    expect(used()).toBe(25)
    permit.finish('success', { cost: 24 })
    expect(used()).toBe(24)
  })

  it.each([9, 10, 11])('is spent although the request fails: %d where 10 was asked for', async (cost) => {
    for (const tell of ['finish', 'charge'] as const) {
      const escrow = new WeightedFairEscrow({ limit: 100, windowMs: 1_000, clock })
      const permit = await permitOf({ budget: budgetStage(escrow) }, 'a', 10)
      if (tell === 'charge') permit.charge(cost)
      permit.finish('failure', tell === 'finish' ? { cost } : undefined)
      expect(escrow.snapshot().used).toBe(cost)
    }
  })

  it('is nothing if a request fails and no cost is named', async () => {
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: 1_000, clock })
    const permit = await permitOf({ budget: budgetStage(escrow) }, 'a', 10)
    permit.finish('failure')
    expect(escrow.snapshot().used).toBe(0)
  })

  it('is owed for the next window where nothing is left, or the window is over', async () => {
    const own = manualClock()
    const escrow = new WeightedFairEscrow({ limit: 100, windowMs: 1_000, clock: own })
    const first = escrow.check('a', 60)
    expect(escrow.charge(first, 130)).toEqual({ settled: true, unpaid: 30 })
    expect(escrow.snapshot().used).toBe(100)
    own.advance(1_000)
    expect(escrow.charge(first, 140)).toEqual({ settled: true, unpaid: 10 })
    expect(escrow.charge(first, 140)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.settle(first, 140)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.charge(first, 150)).toEqual({ settled: false, unpaid: 0 })
    own.advance(1_000)
    expect(escrow.check('a', 91).allowed).toBe(false)
    expect(escrow.check('a', 90).allowed).toBe(true)
  })

  it('that a fleet shares is spent from what this member has drawn', async () => {
    const store = new MemoryPoolStore({ clock })
    const escrow = new LeasedFairEscrow({ pool: 'api', limit: 100, windowMs: 1_000, quantum: 20, store, clock })
    const permit = await permitOf({ budget: budgetStage(escrow) }, 'a', 5)
    const used = () => escrow.snapshot().used
    permit.charge(12)
    expect(used()).toBe(12)
    permit.charge(28)
    expect(used()).toBe(20)
    permit.finish('success', { cost: 16 })
    expect(used()).toBe(16)
    await escrow.close()
  })
})

describe('a charge to a flow', () => {
  it('costs it its next turns in the queue, while the request still runs', async () => {
    const gate = createGate({ fair: false, clock, queue: requestQueue({ concurrency: 2, maxWaitMs: 60_000 }) })
    const started: string[] = []
    const permits: Permit[] = []
    const ask = (flow: string): void =>
      void Promise.resolve(gate.admit({ flow })).then((decision) => {
        if (!decision.admitted) return
        started.push(flow)
        permits.push(decision)
      })
    const settled = async () => {
      for (let i = 0; i < 20; i++) await Promise.resolve()
    }
    for (const flow of ['x', 'x', 'a', 'a', 'a', 'b', 'b', 'b', 'b']) ask(flow)
    await settled()
    permits[0]!.finish('success')
    await settled()
    expect(started.at(-1)).toBe('a')
    for (let token = 0; token < 50; token++) permits[2]!.charge(1)
    for (let next = 1; next < 6; next++) {
      if (next !== 2) permits[next]!.finish('success')
      await settled()
    }
    expect(started).toEqual(['x', 'x', 'a', 'b', 'b', 'b', 'b'])
  })

  it('is charged by FAIR, once, like a cost that was known before', () => {
    const served = (charged: boolean): number => {
      const own = manualClock()
      const random = seededRandom(1)
      const gate = createGate({ clock: own, random })
      let light = 0
      let room = 0
      for (let ms = 0; ms < 60_000; ms++) {
        own.advance(1)
        room = Math.min(20, room + 0.1)
        for (const flow of ['heavy', 'light', 'light-2']) {
          const cost = flow === 'heavy' ? 10 : 1
          if (random() > 0.08) continue
          const permit = gate.admit({ flow, cost: charged ? 1 : cost }) as Permit
          if (!permit.admitted) continue
          for (let i = 0; charged && i < cost; i++) permit.charge(1)
          const failed = room < cost
          if (!failed) room -= cost
          if (!failed && flow !== 'heavy') light++
          permit.finish(failed ? 'failure' : 'success', charged ? undefined : { cost })
        }
      }
      return light
    }
    const [known, streamed] = [served(false), served(true)]
    expect(streamed).toBeGreaterThan(0.8 * known)
  })
})
