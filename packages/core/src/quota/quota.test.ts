import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGate, type Decision, type Gate, type Refusal } from '../index.js'
import { manualClock, seededRandom, settled } from '../testing/index.js'
import { MemoryQuotaStore, type QuotaOptions, type QuotaStore, quota } from './index.js'

type Options = QuotaOptions<[{ readonly flow: string; readonly cost: number }]>

/** A gate with quotas as its only stages, and its clock. */
function gateWith(...options: readonly Partial<Options>[]): { gate: Gate; clock: ReturnType<typeof manualClock> } {
  const clock = manualClock()
  const quotas = options.map((own) => quota({ limit: 3, windowMs: 60_000, ...own }))
  return { gate: createGate({ fair: false, quota: quotas, clock }), clock }
}

function ask(gate: Gate, flow = 'acme', cost = 1): Decision {
  const decision = gate.admit({ flow, cost })
  if (decision instanceof Promise) throw new Error('it answered later')
  return decision
}

function refusal(decision: Decision): Refusal {
  if (decision.admitted) throw new Error('it was admitted')
  return decision
}

describe('a quota', () => {
  it('admits the limit at once, then refuses, and says for how long', () => {
    const { gate } = gateWith({})
    for (let i = 0; i < 3; i++) expect(ask(gate).admitted).toBe(true)
    expect(refusal(ask(gate))).toMatchObject({
      stage: 'quota',
      reason: 'over-quota',
      shortage: false,
      retryAfterMs: 20_000,
      detail: { limit: 3, burst: 3, remaining: 0, windowMs: 60_000 },
    })
  })

  it('is earned evenly, and whole after a window', () => {
    const { gate, clock } = gateWith({})
    for (let i = 0; i < 3; i++) ask(gate)
    clock.advance(20_000)
    expect(ask(gate).admitted).toBe(true)
    expect(ask(gate).admitted).toBe(false)
    clock.advance(60_000)
    for (let i = 0; i < 3; i++) expect(ask(gate).admitted).toBe(true)
    expect(ask(gate).admitted).toBe(false)
  })

  it('is each key’s own', () => {
    const { gate } = gateWith({})
    for (let i = 0; i < 4; i++) ask(gate, 'acme')
    expect(ask(gate, 'globex').admitted).toBe(true)
  })

  it('counts costs; what is above the burst is never admitted', () => {
    const { gate } = gateWith({ limit: 10, burst: 5 })
    expect(refusal(ask(gate, 'acme', 6))).toMatchObject({ reason: 'never', retryAfterMs: Number.POSITIVE_INFINITY })
    expect(ask(gate, 'acme', 5).admitted).toBe(true)
    expect(refusal(ask(gate, 'acme', 2)).retryAfterMs).toBeCloseTo(12_000)
  })

  it('of 0 refuses all', () => {
    expect(refusal(ask(gateWith({ limit: 0 }).gate))).toMatchObject({ reason: 'never' })
  })

  it('keeps a plan apart from another, as the request says', () => {
    const { gate } = gateWith({ limit: ({ flow }) => (flow === 'gold' ? 5 : 1) })
    const admitted = (flow: string): number =>
      Array.from({ length: 9 }, () => ask(gate, flow)).filter((d) => d.admitted).length
    expect([admitted('gold'), admitted('free')]).toEqual([5, 1])
  })

  it('waits for a key, a plan and a skip that come later', async () => {
    const { gate } = gateWith({
      limit: async () => 1,
      keyGenerator: async ({ flow }) => flow.slice(0, 4),
      skip: async ({ flow }) => flow === 'acme-health',
    })
    const answers = await Promise.all(['acme-1', 'acme-2', 'acme-health'].map((flow) => gate.admit({ flow })))
    expect(answers.map(({ admitted }) => admitted)).toEqual([true, false, true])
  })

  it('gives back what a later stage refuses, and settles what a request really cost', () => {
    const { gate } = gateWith({ name: 'per-minute', limit: 10 }, { name: 'per-second', limit: 1, windowMs: 1_000 })
    const first = ask(gate)
    expect(refusal(ask(gate)).stage).toBe('per-second')
    if (first.admitted) {
      expect(first.quotas().map(({ policy, remaining }) => [policy, Math.round(remaining)])).toEqual([
        ['per-minute', 9],
        ['per-second', 0],
      ])
      first.finish('success', { cost: 0 })
    }
    const second = ask(gate)
    expect(second.admitted && second.quotas()[0]?.remaining).toBeCloseTo(9)
  })

  it.each([
    ['failure', { skipFailedRequests: true }, [true, true, true]],
    ['ignored', { skipFailedRequests: true }, [true, true, true]],
    ['success', { skipFailedRequests: true }, [true, false, false]],
    ['success', { skipSuccessfulRequests: true }, [true, true, true]],
    ['failure', { skipSuccessfulRequests: true }, [true, false, false]],
    ['failure', {}, [true, false, false]],
  ] as const)('after %s, with %o, counts as it should', (outcome, options, expected) => {
    const { gate } = gateWith({ ...options, limit: 1 })
    const admitted = expected.map(() => {
      const decision = ask(gate)
      if (decision.admitted) decision.finish(outcome)
      return decision.admitted
    })
    expect(admitted).toEqual(expected)
  })

  it('tells what is left, also once it is whole again', () => {
    const { gate, clock } = gateWith({ limit: 6, burst: 3 })
    const decision = ask(gate)
    if (!decision.admitted) throw new Error('it was refused')
    const told = { policy: 'quota', guarantee: 6, windowMs: 60_000, limit: 3, remaining: 2, resetAfterMs: 10_000 }
    expect(decision.quotas()).toEqual([told])
    for (const more of [10_000, 60_000]) {
      clock.advance(more)
      expect(decision.quotas()).toEqual([{ ...told, remaining: 3, resetAfterMs: 0 }])
    }
  })

  it('shortens the keys of a generator as the gate shortens flows', () => {
    const asked: string[] = []
    const store: QuotaStore = {
      take(key) {
        asked.push(key)
        return { taken: true, debtMs: 0 }
      },
      forget: () => {},
    }
    const terms = { name: 'day', limit: 9, windowMs: 60_000, store }
    const long = 'k'.repeat(100_000)
    for (const key of [long, `${long}!`, 'k'.repeat(256)])
      for (const [flow, own] of [
        ['any', quota({ ...terms, keyGenerator: () => key })],
        [key, quota(terms)],
      ] as const)
        createGate({ fair: false, quota: own, nameSecret: 'ours' }).admit({ flow })
    expect(new Set(asked).size).toBe(3)
    for (const [i, key] of asked.entries()) {
      expect(key.length).toBe('day:'.length + 256)
      if (i % 2 === 1) expect(key).toBe(asked[i - 1])
    }
  })

  it('starts anew for a flow that is reset, and lets pass what is exempt', () => {
    const { gate } = gateWith({ limit: 1 })
    ask(gate)
    expect(gate.admit({ flow: 'acme', exempt: true })).toMatchObject({ admitted: true })
    expect(ask(gate).admitted).toBe(false)
    gate.resetFlow('acme')
    expect(ask(gate).admitted).toBe(true)
  })

  it('in a dry run refuses nothing, and counts the requests that it would', () => {
    const { gate } = gateWith({ limit: 1, dryRun: true })
    expect([ask(gate), ask(gate)].map(({ admitted }) => admitted)).toEqual([true, true])
    expect(gate.snapshot().stages).toMatchObject({ quota: { keys: 1, wouldRefuse: 1 } })
  })

  it('never admits more in any window than the burst and what is earned meanwhile', () => {
    const step = fc.record({ afterMs: fc.nat(400), cost: fc.integer({ min: 1, max: 4 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (steps, burst) => {
        const { gate, clock } = gateWith({ limit: 10, windowMs: 1_000, burst })
        const taken: { readonly atMs: number; readonly cost: number }[] = []
        for (const { afterMs, cost } of steps) {
          clock.advance(afterMs)
          const atMs = clock()
          if (ask(gate, 'acme', cost).admitted) taken.push({ atMs, cost })
        }
        for (const from of taken) {
          let used = 0
          for (const { atMs, cost } of taken.filter(({ atMs }) => atMs >= from.atMs)) {
            used += cost
            expect(used).toBeLessThanOrEqual(burst + (atMs - from.atMs) / 100 + 1e-6)
          }
        }
      }),
    )
  })
})

describe('a limit that depends on the request', () => {
  const admittedAtOnce = (gate: Gate): number => {
    let count = 0
    while (ask(gate).admitted) count++
    return count
  }

  it('does not grant the burst again when it changes', () => {
    let limit = 6_000
    const { gate } = gateWith({ limit: () => limit, burst: 20 })
    expect(admittedAtOnce(gate)).toBe(20)
    for (limit of [3_000, 1_000, 300, 60, 6_000]) expect(admittedAtOnce(gate)).toBe(0)
  })

  it('earns at once by the new limit after an upgrade', () => {
    let limit = 60
    const { gate, clock } = gateWith({ limit: () => limit, burst: 20 })
    admittedAtOnce(gate)
    limit = 6_000
    expect(refusal(ask(gate)).retryAfterMs).toBeCloseTo(10)
    clock.advance(10)
    expect(admittedAtOnce(gate)).toBe(1)
  })

  it('earns by the old limit until the first request after a change', () => {
    let limit = 60
    const { gate, clock } = gateWith({ limit: () => limit, burst: 20 })
    admittedAtOnce(gate)
    clock.advance(5_000)
    limit = 6_000
    expect(admittedAtOnce(gate)).toBe(5)
  })

  it('takes what a request of another plan gives back as the units that it is, and changes nothing else', () => {
    let limit = 60
    const { gate, clock } = gateWith({ limit: () => limit, burst: 20, skipFailedRequests: true })
    const slow = Array.from({ length: 5 }, () => ask(gate))
    limit = 6_000
    admittedAtOnce(gate)
    for (const decision of slow) if (decision.admitted) decision.finish('ignored')
    expect(admittedAtOnce(gate)).toBe(5)
    clock.advance(50)
    expect(admittedAtOnce(gate)).toBe(5)
  })

  it('never admits more in any span than the burst and what the limits earn in it, nor less', () => {
    const step = fc.record({ afterMs: fc.nat(400), cost: fc.integer({ min: 1, max: 4 }), at: fc.nat(3) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const burst = 6
        const perMs = [0.001, 0.01, 0.1, 1]
        let at = 0
        const { gate, clock } = gateWith({ limit: () => perMs[at]! * 1_000, windowMs: 1_000, burst })
        let debt = 0
        let earns = 0
        for (const { afterMs, cost, at: next } of steps) {
          clock.advance(afterMs)
          debt = Math.max(0, debt - afterMs * earns)
          at = next
          earns = perMs[at]!
          const after = debt + cost
          const { admitted } = ask(gate, 'acme', cost)
          if (Math.abs(after - burst) > 1e-6) expect(admitted).toBe(after < burst)
          if (admitted) debt = after
        }
      }),
    )
  })

  it.each([1e-300, 1e-9])(
    'of %d refuses beyond the burst, and stays a number after a cost out of all measure',
    (limit) => {
      const { gate, clock } = gateWith({ limit: ({ flow }) => (flow === 'acme' ? limit : 1), windowMs: 3e10, burst: 2 })
      const decision = ask(gate)
      if (decision.admitted) decision.finish('success', { cost: 1e300 })
      expect(ask(gate).admitted).toBe(false)
      clock.advance(1e6)
      expect(ask(gate)).toMatchObject({ admitted: false, reason: 'over-quota' })
      expect(gate.snapshot().stageErrors).toBe(0)
    },
  )
})

/** The cell rate algorithm in whole numbers: debts in units of `1 / (PARTS * windowMs)` of a cost. */
class WholeQuota {
  static readonly PARTS = 4
  debt = 0n
  readonly most: bigint
  readonly #limit: bigint
  readonly #windowMs: bigint

  constructor(limit: number, windowMs: number, burst: number) {
    this.#limit = BigInt(limit * WholeQuota.PARTS)
    this.#windowMs = BigInt(windowMs)
    this.most = this.worth(burst)
  }

  worth(cost: number): bigint {
    return BigInt(cost * WholeQuota.PARTS) * this.#windowMs
  }

  inCost(debt: bigint): number {
    return Number(debt) / WholeQuota.PARTS / Number(this.#windowMs)
  }

  pass(elapsedMs: number): void {
    const left = this.debt - BigInt(elapsedMs) * this.#limit
    this.debt = left > 0n ? left : 0n
  }
}

describe('what a quota counts', () => {
  const quotas = fc.record({
    perMs: fc.constantFrom(1, 3, 34, 300, 667, 800, 1_000, 1_000_000),
    windowMs: fc.constantFrom(1, 7, 1_000, 60_000),
    bursts: fc.constantFrom(1, 2, 5),
    startMs: fc.constantFrom(0, 1_700_000_000_000),
  })
  const step = fc.record({
    afterMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { arbitrary: fc.nat(5), weight: 2 }, fc.nat(100_000)),
    // A part of the remaining quota, plus some units: so the sequence often reaches the limit.
    part: fc.constantFrom(0, 0, 0, 0.5, 0.999, 1),
    quarters: fc.integer({ min: 1, max: 40 }),
  })

  it('is what whole numbers count, also at a million per millisecond and with the clock since 1970', () => {
    fc.assert(
      fc.property(quotas, fc.array(step, { maxLength: 80 }), ({ perMs, windowMs, bursts, startMs }, steps) => {
        const limit = perMs * windowMs
        const burst = limit * bursts
        const whole = new WholeQuota(limit, windowMs, burst)
        let nowMs = startMs
        const gate = createGate({ fair: false, quota: quota({ limit, windowMs, burst }), clock: () => nowMs })
        for (const { afterMs, part, quarters } of steps) {
          nowMs += afterMs
          whole.pass(afterMs)
          const room = whole.inCost(whole.most - whole.debt)
          const cost = Math.max(1, Math.floor(room * part * 4) + quarters) / 4
          const decision = ask(gate, 'acme', cost)
          const after = whole.debt + whole.worth(cost)
          // Within this distance of the burst, either answer is right.
          const slack = BigInt(Math.ceil(Number(whole.most) * 2e-9))
          if (decision.admitted) {
            expect(after).toBeLessThanOrEqual(whole.most + slack)
            whole.debt = after
          } else expect(after).toBeGreaterThan(whole.most - slack)
          const told = decision.admitted ? decision.quotas()[0]?.remaining : decision.detail['remaining']
          const left = Math.max(0, whole.inCost(whole.most - whole.debt))
          expect(Math.abs(Number(told) - left)).toBeLessThanOrEqual(1e-9 * burst)
        }
      }),
    )
  })

  it.each(byWidth([100_000], [1_000_000]))('is each of %d requests at once, not one more or less', (limit) => {
    const { gate } = gateWith({ limit, windowMs: 1_000 })
    for (let i = 0; i < limit; i++) if (!ask(gate).admitted) expect.fail(`request ${i} was refused`)
    expect(ask(gate).admitted).toBe(false)
  })

  it('is a cost of one in a burst of the most there can be, to a part in a thousand', () => {
    const windowMs = 1_000
    const store = new MemoryQuotaStore()
    const unitMs = windowMs / 1e12
    store.take('acme', windowMs, windowMs, 1_700_000_000_000)
    store.take('acme', -1e5 * unitMs, Number.POSITIVE_INFINITY, 1_700_000_000_000)
    let admitted = 0
    for (let i = 0; i < 1.01e5; i++) if (store.take('acme', unitMs, windowMs, 1_700_000_000_000).taken) admitted++
    expect(admitted).toBeGreaterThanOrEqual(99_900)
    expect(admitted).toBeLessThanOrEqual(100_100)
  })
})

describe('a store that fails', () => {
  const broken: QuotaStore = {
    take: () => Promise.reject(new Error('it is away')),
    forget: () => Promise.reject(new Error('it is away')),
  }

  it.each([
    ['admit', true],
    ['refuse', false],
  ] as const)('onError: %s', async (onError, admitted) => {
    const { gate } = gateWith({ store: broken, onError })
    expect(await gate.admit({ flow: 'acme' })).toMatchObject({ admitted })
    expect(gate.snapshot().stageErrors).toBe(1)
    gate.resetFlow('acme')
    await settled()
  })

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['nothing, later', Promise.resolve(undefined)],
    ['no number', { taken: false, debtMs: Number.NaN }],
    ['words', { taken: '0', debtMs: '5' }],
  ])('answers %s', async (_what, answer) => {
    const { gate } = gateWith({ store: { take: () => answer as never, forget: () => {} }, onError: 'refuse' })
    expect(await gate.admit({ flow: 'acme' })).toMatchObject({ admitted: false, reason: 'error' })
    expect(gate.snapshot().stageErrors).toBe(1)
  })

  it('does not, where it answers with what can be awaited and is no promise', async () => {
    // biome-ignore lint/suspicious/noThenProperty: as query builders have it
    const later = { then: (told: (level: object) => void) => told({ taken: false, debtMs: 70_000 }) }
    const { gate } = gateWith({ store: { take: () => later as never, forget: () => {} } })
    expect(await gate.admit({ flow: 'acme' })).toMatchObject({ reason: 'over-quota', retryAfterMs: 30_000 })
  })

  it('is not shared by quotas that share it', async () => {
    const keys: string[] = []
    const store: QuotaStore = {
      take: async (key) => {
        keys.push(key)
        return { taken: true, debtMs: 1 }
      },
      forget: () => {},
    }
    const { gate } = gateWith({ name: 'day', store }, { name: 'second', store })
    await gate.admit({ flow: 'acme' })
    expect(keys).toEqual(['day:acme', 'second:acme'])
  })
})

describe('a request without a key', () => {
  it.each(['', undefined, null])('(%j) has the quota of its flow, and is not without a limit', async (none) => {
    for (const keyGenerator of [() => none, async () => none]) {
      const { gate } = gateWith({ limit: 1, keyGenerator })
      const admitted = async (flow: string): Promise<boolean> => (await gate.admit({ flow })).admitted
      expect(await admitted('acme')).toBe(true)
      expect(await admitted('acme')).toBe(false)
      expect(await admitted('globex')).toBe(true)
      expect(gate.snapshot().stageErrors).toBe(0)
    }
  })
})

describe('a key that looks like the flow of an address', () => {
  it('is another quota than that of the address', async () => {
    const { gate } = gateWith({ limit: 1, keyGenerator: ({ flow }) => (flow === 'thief' ? 'ip:203.0.113.5' : '') })
    expect((await gate.admit({ flow: 'thief' })).admitted).toBe(true)
    expect((await gate.admit({ flow: 'thief' })).admitted).toBe(false)
    expect((await gate.admit({ flow: 'ip:203.0.113.5' })).admitted).toBe(true)
  })
})

describe('functions of a quota', () => {
  const rejects = (): Promise<never> => Promise.reject(new Error('later'))
  const throws = (): never => {
    throw new Error('at once')
  }

  it.each<[string, Partial<Options>]>([
    ['skip rejects and the key throws', { skip: rejects, keyGenerator: throws }],
    ['the key rejects and the limit throws', { keyGenerator: rejects, limit: throws }],
    ['all reject', { skip: rejects, keyGenerator: rejects, limit: rejects }],
  ])('are failures of the stage, all of them heard: %s', async (_what, options) => {
    const { gate } = gateWith({ ...options, onError: 'refuse' })
    expect(await gate.admit({ flow: 'acme' })).toMatchObject({ reason: 'error' })
    await settled()
    expect(gate.snapshot().stageErrors).toBe(1)
  })

  it('may give what can be awaited and is no promise', async () => {
    // biome-ignore lint/suspicious/noThenProperty: as query builders have it
    const query = { then: (told: (limit: number) => void) => told(1) }
    const { gate } = gateWith({ limit: () => query as never })
    expect((await gate.admit({ flow: 'acme' })).admitted).toBe(true)
    expect((await gate.admit({ flow: 'acme' })).admitted).toBe(false)
  })
})

describe('the memory of quotas', () => {
  it('lets keys go, though a cost out of all measure was refused', () => {
    const store = new MemoryQuotaStore()
    expect(store.take('hostile', 1e15, 100, 0).taken).toBe(false)
    for (let at = 0; at < 10_000; at++) store.take(`key ${at}`, 10, 100, at)
    expect(store.size).toBeLessThanOrEqual(250)
  })

  it('lets keys go that are free of debt, however many come', () => {
    const store = new MemoryQuotaStore()
    for (let at = 0; at < 10_000; at++) store.take(`key ${at}`, 10, 100, at)
    expect(store.size).toBeLessThanOrEqual(250)
    expect(store.take('key 9999', 95, 100, 10_000).taken).toBe(false)
  })

  it('is never fuller than it may be, and forgets those that asked longest ago', () => {
    const store = new MemoryQuotaStore({ maxKeys: 100 })
    for (let at = 0; at < 1_000; at++) store.take(`key ${at}`, 100, 100, 0)
    expect(store.size).toBeLessThanOrEqual(100)
    expect(store.take('key 999', 1, 100, 0).taken).toBe(false)
    expect(store.take('key 0', 1, 100, 0).taken).toBe(true)
  })

  it('lets keys go also where some are given back', () => {
    const store = new MemoryQuotaStore()
    for (let at = 0; at < 10_000; at++) {
      store.take(`key ${at}`, 10, 100, at)
      store.take(`key ${at}`, -1, Number.POSITIVE_INFINITY, at)
    }
    expect(store.size).toBeLessThanOrEqual(250)
  })

  it('forgets nothing while no more keys than it may keep are in debt', () => {
    const store = new MemoryQuotaStore({ maxKeys: 100 })
    const random = seededRandom(1)
    let taken = 0
    for (let at = 0; at < 10_000; at++)
      if (store.take(`key ${Math.floor(random() * 100)}`, 1_000_000, 5_000_000, at).taken) taken++
    expect(taken).toBe(500)
    expect(store.size).toBe(100)
  })

  it('lets keys go also where only keys ask that it knows, beside one with a debt for ever', () => {
    const store = new MemoryQuotaStore()
    store.take('overdrawn', 1e15, Number.POSITIVE_INFINITY, 0)
    for (let at = 0; at < 10_000; at++) store.take(`key ${at}`, 10_000, 20_000, at)
    for (let at = 20_000; at < 60_000; at++) store.take(`key ${at % 10}`, 1, 20_000, at)
    expect(store.size).toBeLessThanOrEqual(100)
  })

  it('forgets no key that asks, though it is refused, before those that do not', () => {
    const store = new MemoryQuotaStore({ maxKeys: 100 })
    let taken = 0
    for (let at = 0; at < 600; at++) {
      if (store.take('heavy', 1_000, 60_000, at * 10).taken) taken++
      store.take(`newcomer ${at}`, 1_000, 60_000, at * 10)
    }
    expect(taken).toBeLessThanOrEqual(66)
    expect(store.size).toBeLessThanOrEqual(100)
  })

  it('keeps few more keys than are in debt, however long the window is', () => {
    const store = new MemoryQuotaStore()
    for (let at = 0; at < 50_000; at++) store.take(`key ${at}`, 100, 86_400_000, at)
    expect(store.size).toBeLessThanOrEqual(500)
  })

  it('lets other keys go, though one has a debt for ever, which it keeps', () => {
    const store = new MemoryQuotaStore()
    store.take('overdrawn', 10, 100, 0)
    store.take('overdrawn', 1e15, Number.POSITIVE_INFINITY, 0)
    for (let at = 0; at < 10_000; at++) store.take(`key ${at}`, 10, 100, at)
    expect(store.size).toBeLessThanOrEqual(250)
    expect(store.take('overdrawn', 1, 100, 10_000).taken).toBe(false)
  })

  it('refunds no more than there is', () => {
    const store = new MemoryQuotaStore()
    store.take('acme', 10, 100, 0)
    expect(store.take('acme', -50, Number.POSITIVE_INFINITY, 0)).toEqual({ taken: true, debtMs: 0 })
    expect(store.size).toBe(0)
  })
})

describe('options of a quota', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ limit: -1 }, 'limit must be a number from 0 to 1000000000000, got -1'],
    [{ limit: 1e13 }, 'limit must be a number from 0 to 1000000000000, got 10000000000000'],
    [{ burst: 1e13 }, 'burst must be a number > 0 and <= 1000000000000, got 10000000000000'],
    [{ windowMs: 0 }, 'windowMs must be a number > 0, got 0'],
    [{ burst: 0 }, 'burst must be a number > 0 and <= 1000000000000, got 0'],
    [{ max: 3 }, 'quota has no option "max"'],
    [{ keyGenerator: 'ip' }, 'keyGenerator must be a function, got "ip"'],
    [{ store: {} }, 'store must be a QuotaStore, got an object'],
    [{ skipFailedRequests: 1 }, 'skipFailedRequests must be true or false, got 1'],
  ])('%o', (options, message) => {
    expect(() => quota({ limit: 3, windowMs: 60_000, ...options })).toThrow(message)
  })

  it('are of a quota, and names differ', () => {
    expect(() => createGate({ quota: 100 as never })).toThrow('quota must be made by quota(), got 100')
    expect(() => gateWith({}, {})).toThrow('stages must be of distinct names, got "quota"')
  })
})

describe('what clients and other quotas do', () => {
  it('a settlement above the estimate does not keep all keys for ever', () => {
    const store = new MemoryQuotaStore()
    store.take('busy', 1_000, 1_000, 0)
    store.take('busy', 500, Number.POSITIVE_INFINITY, 0)
    for (let i = 0; i < 10_000; i++) store.take(`key-${i}`, 1, 1_000, i)
    expect(store.size).toBeLessThan(5_000)
  })

  it('units that were earned back meanwhile are not given back once more', () => {
    const { gate, clock } = gateWith({ limit: 10, windowMs: 10_000, skipFailedRequests: true })
    const slow = Array.from({ length: 10 }, () => ask(gate))
    clock.advance(10_000)
    for (let i = 0; i < 10; i++) expect(ask(gate).admitted).toBe(true)
    for (const decision of slow) if (decision.admitted) decision.finish('ignored')
    expect(ask(gate).admitted).toBe(false)
  })

  it.each([
    ['is returned of a request that ends before it is earned back', 100, 9],
    ['is not returned of one that lasts for as long as it takes to earn the burst', 1_000, 0],
  ])('what was expected too much %s', (_what, lastsMs, served) => {
    const { gate, clock } = gateWith({ limit: 10, windowMs: 1_000 })
    const first = ask(gate, 'acme', 10)
    clock.advance(lastsMs)
    // Busy all the time: nothing that it earns is lost.
    const more = ask(gate, 'acme', (10 * lastsMs) / 1_000)
    expect(more.admitted).toBe(true)
    if (first.admitted) first.finish('success', { cost: 1 })
    let count = 0
    while (ask(gate).admitted) count++
    expect(count).toBe(served)
  })

  it('names that hold the mark between name and key part their keys all the same', () => {
    const store = new MemoryQuotaStore()
    const a = gateWith({ name: 'a', limit: 1, store })
    const ab = gateWith({ name: 'a:b', limit: 1, store })
    expect(ask(ab.gate, 'c').admitted).toBe(true)
    expect(ask(a.gate, 'b:c').admitted).toBe(true)
  })
})
