import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { manualClock } from '../testing/manual-clock.js'
import { settled } from '../testing/world.js'
import type { Decision, Permit } from './decision.js'
import { Overrides } from './overrides.js'
import type { Refusal } from './refusal.js'

function setUp() {
  const clock = manualClock()
  const overrides = new Overrides({ clock })
  const budget = escrow({ limit: 100, windowMs: 600_000 })
  const gate = createGate({ fair: false, budget, overrides, clock })
  const ask = (flow: string, exempt = false): Decision => gate.admit({ flow, exempt }) as Decision
  return { clock, overrides, gate, ask }
}

describe('overrides', () => {
  it('block a flow for a time, which the refusal tells, and no other', () => {
    const { clock, overrides, gate, ask } = setUp()
    overrides.block('a', 5_000)
    clock.advance(2_000)
    expect(ask('a')).toMatchObject({ admitted: false, stage: 'overrides', reason: 'blocked', retryAfterMs: 3_000 })
    expect(ask('b').admitted).toBe(true)
    expect(ask('a', true).admitted).toBe(true)
    expect(gate.snapshot()).toMatchObject({
      refusedBy: { 'overrides:blocked': 1 },
      stages: { overrides: { a: { kind: 'block', leftMs: 3_000 } } },
    })
    clock.advance(3_000)
    expect(ask('a').admitted).toBe(true)
    expect(overrides.snapshot()).toEqual({})
  })

  it('are taken back, and the last counts', () => {
    const { overrides, ask } = setUp()
    overrides.block('a', 5_000)
    overrides.boost('a', 2, 5_000)
    expect(ask('a').admitted).toBe(true)
    overrides.block('a', 5_000)
    expect(overrides.clear('a')).toBe(true)
    expect(overrides.clear('a')).toBe(false)
    expect(ask('a').admitted).toBe(true)
  })

  it('boost the weight that mechanisms see, for a time', () => {
    const { clock, overrides, ask } = setUp()
    const guaranteeOf = (flow: string): number => {
      const decision = ask(flow)
      if (!decision.admitted) throw new Error('refused')
      return decision.quotas()[0]!.guarantee
    }
    guaranteeOf('b')
    expect(guaranteeOf('a')).toBeCloseTo(50)
    overrides.boost('a', 3, 5_000)
    expect(guaranteeOf('a')).toBeCloseTo(75)
    clock.advance(5_000)
    expect(guaranteeOf('a')).toBeCloseTo(50)
  })

  it('hold a bounded number of flows', () => {
    const { overrides } = setUp()
    for (let i = 0; i < 10_005; i++) overrides.block(`flow ${i}`, 1_000)
    expect(Object.keys(overrides.snapshot())).toHaveLength(10_000)
  })

  it('that are over make room before any that is not', () => {
    const { clock, overrides, ask } = setUp()
    overrides.block('bad', 86_400_000)
    for (const round of [1, 2]) {
      for (let i = 0; i < 9_999; i++) overrides.block(`flow ${round} ${i}`, 1_000)
      clock.advance(1_000)
    }
    overrides.block('one more', 1_000)
    expect(ask('bad')).toMatchObject({ admitted: false, reason: 'blocked' })
    expect(Object.keys(overrides.snapshot())).toEqual(['bad', 'one more'])
  })

  it('boost a weight no further than weights go', () => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const budget = escrow({ limit: 100, windowMs: 600_000 })
    const weightOf = (flow: string): number => (flow === 'big' ? 1e10 : 1e12)
    const gate = createGate({ fair: false, budget, overrides, clock, weightOf })
    overrides.boost('big', 1_000, 60_000)
    gate.admit({ flow: 'as big' })
    const decision = gate.admit({ flow: 'big' }) as Permit
    expect(decision.quotas()[0]!.guarantee).toBeCloseTo(50)
    expect(gate.snapshot().stageErrors).toBe(0)
  })

  it('are no longer told to a gate that has closed', () => {
    const { overrides, gate } = setUp()
    const heard: string[] = []
    gate.observe((event) => heard.push(event.type))
    overrides.block('a', 1_000)
    gate.close()
    overrides.block('a', 1_000)
    expect(heard).toEqual(['override'])
  })

  it('hold, and are told to all others, where a listener throws or rejects; the gate counts that', async () => {
    const { overrides, gate, ask } = setUp()
    const heard: string[] = []
    overrides.onChange(() => {
      throw new Error('the log is full')
    })
    overrides.onChange(() => Promise.reject(new Error('the log is away')))
    overrides.onChange(({ flow, kind }) => heard.push(`${kind} ${flow}`))
    overrides.block('a', 5_000)
    expect(ask('a')).toMatchObject({ admitted: false, reason: 'blocked' })
    expect(overrides.clear('a')).toBe(true)
    await settled()
    expect(heard).toEqual(['block a', 'clear a'])
    expect(gate.snapshot().listenerErrors).toBe(4)
  })

  it('say what is wrong with them', () => {
    const { overrides } = setUp()
    expect(() => overrides.block('', 1)).toThrow('flow must be a non-empty string, got ""')
    expect(() => overrides.clear(5 as never)).toThrow('flow must be a non-empty string, got 5')
    expect(() => overrides.explain(5 as never)).toThrow('flow must be a non-empty string, got 5')
    expect(() => overrides.onChange(5 as never)).toThrow('listener must be a function, got 5')
    expect(() => overrides.block('a', 0)).toThrow('forMs must be a number > 0 and <= 1000000000000, got 0')
    expect(() => overrides.block('a', 1e30)).toThrow('forMs must be a number > 0 and <= 1000000000000, got 1e+30')
    expect(() => overrides.boost('a', -1, 1)).toThrow('factor must be a number from 1e-9 to 1000000000000, got -1')
    expect(() => overrides.boost('a', 1e300, 1)).toThrow('factor must be a number from 1e-9')
    expect(() => createGate({ overrides: {} as never })).toThrow(
      'overrides must be made by new Overrides(), got an object',
    )
  })
})

describe('a flow that is held', () => {
  it('gets its rate, a second of it at once, and comes back when it is told to', () => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const gate = createGate({ clock, overrides, fair: false })
    overrides.hold('heavy', 10, 60_000)
    let admitted = 0
    for (let i = 0; i < 1_000; i++) {
      if (!(gate.admit({ flow: 'quiet' }) as Decision).admitted) throw new Error('quiet is free')
      const decision = gate.admit({ flow: 'heavy' }) as Decision
      if (decision.admitted) admitted++
      else expect(decision).toMatchObject({ stage: 'overrides', reason: 'held', detail: { costPerSecond: 10 } })
      clock.advance(10)
    }
    // Ten seconds at ten a second, plus the burst of one second.
    expect(admitted).toBeGreaterThanOrEqual(109)
    expect(admitted).toBeLessThanOrEqual(111)
    gate.admit({ flow: 'heavy' })
    const refusal = gate.admit({ flow: 'heavy' }) as Refusal
    clock.advance(refusal.retryAfterMs)
    expect(gate.admit({ flow: 'heavy' })).toMatchObject({ admitted: true })
    expect(gate.admit({ flow: 'heavy', exempt: true })).toMatchObject({ admitted: true })
    expect(() => overrides.hold('heavy', 0, 1)).toThrow(
      /costPerSecond must be a number from 1e-9 to 1000000000000, got 0/,
    )
  })

  it('owes nothing of a hold that was over long before', async () => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const gate = createGate({ clock, overrides, fair: false })
    overrides.hold('heavy', 0.001, 1_000)
    expect((gate.admit({ flow: 'heavy', cost: 100 }) as Decision).admitted).toBe(true)
    clock.advance(10_000)
    overrides.hold('heavy', 20, 1_000)
    expect((gate.admit({ flow: 'heavy' }) as Decision).admitted).toBe(true)
  })

  it.each([900, 1_000])('gets no more than its rate, however often the hold is renewed (each %d ms)', (everyMs) => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const gate = createGate({ clock, overrides, fair: false })
    let admitted = 0
    for (let atMs = 0; atMs < 10_000; atMs += 10) {
      if (atMs % everyMs === 0) overrides.hold('heavy', 20, 1_000)
      if ((gate.admit({ flow: 'heavy' }) as Decision).admitted) admitted++
      clock.advance(10)
    }
    expect(admitted).toBeGreaterThanOrEqual(219)
    expect(admitted).toBeLessThanOrEqual(222)
  })

  it('owes as much at another rate, which takes as much less time', () => {
    const clock = manualClock()
    const overrides = new Overrides({ clock })
    const gate = createGate({ clock, overrides, fair: false })
    overrides.hold('heavy', 1, 600_000)
    gate.admit({ flow: 'heavy', cost: 101 })
    expect(gate.admit({ flow: 'heavy' })).toMatchObject({ retryAfterMs: 100_000 })
    overrides.hold('heavy', 10, 600_000)
    expect(gate.admit({ flow: 'heavy' })).toMatchObject({ retryAfterMs: 10_000 })
  })

  describe.each([undefined, 'fleet-secret'])('of a name too long to be kept, with nameSecret %s', (nameSecret) => {
    const long = `${'k'.repeat(300)}`
    const gateWith = (overrides: Overrides) =>
      createGate({ fair: false, overrides, ...(nameSecret !== undefined && { nameSecret }) })

    it.each([
      ['by the name', () => long],
      ['by the name that was shown', (seen: string) => seen],
    ])('hold, are explained and are cleared %s', (_, nameOf) => {
      const overrides = new Overrides()
      const gate = gateWith(overrides)
      let seen = ''
      gate.observe((event) => {
        if (event.type === 'admitted') seen = event.flow
      })
      gate.admit({ flow: long })
      expect(seen.length).toBe(256)
      const name = nameOf(seen)
      overrides.block(name, 5_000, 'ann')
      expect(gate.admit({ flow: long })).toMatchObject({ admitted: false, reason: 'blocked' })
      expect(gate.explain(name)['overrides']).toMatchObject({ kind: 'block' })
      expect(overrides.explain(name)).toMatchObject({ kind: 'block' })
      expect(Object.keys(overrides.snapshot())).toEqual([seen])
      expect(overrides.clear(name)).toBe(true)
      expect(gate.admit({ flow: long })).toMatchObject({ admitted: true })
    })

    it('hold if they were set before there was a gate', () => {
      const overrides = new Overrides()
      overrides.block(long, 5_000)
      expect(gateWith(overrides).admit({ flow: long })).toMatchObject({ admitted: false, reason: 'blocked' })
      expect(gateWith(overrides).admit({ flow: long })).toMatchObject({ admitted: false, reason: 'blocked' })
    })

    it('are not shared by gates that shorten names differently', () => {
      const overrides = new Overrides()
      gateWith(overrides)
      expect(() => createGate({ fair: false, overrides, nameSecret: 'another' })).toThrow(/nameSecret/)
    })
  })
})
