import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { blue } from '../fair/blue.js'
import { manualClock } from '../testing/manual-clock.js'
import type { Decision } from './decision.js'
import type { GateEvent } from './events.js'
import { admitNow, deferred, gateOf, permitOf, recorder } from './fixtures/gates.js'
import type { Outcome } from './outcome.js'
import { type Refusal, refuse } from './refusal.js'
import type { Hold, Stage, Verdict } from './stage.js'

describe('admitting', () => {
  it('asks the stages in order, and tells each how the request ended', () => {
    const [one, two] = [recorder('one'), recorder('two')]
    const permit = permitOf(admitNow(gateOf([one.stage, two.stage])))
    permit.finish('success')
    expect(one.heard).toEqual(['admit', 'finish success 1'])
    expect(two.heard).toEqual(['admit', 'finish success 1'])
  })

  it('counts a bounded number of reasons by themselves, and loses no refusal', () => {
    let asked = 0
    const stage: Stage = { name: 'one', admit: () => refuse('one', `${asked++}`, false, 0) }
    const gate = gateOf([stage])
    for (let i = 0; i < 5_000; i++) void gate.admit({ flow: 'a' })
    const { refused, refusedBy } = gate.snapshot()
    expect(refused).toBe(5_000)
    expect(Object.keys(refusedBy)).toHaveLength(1_001)
    expect(refusedBy).toMatchObject({ 'one:0': 1, 'one:999': 1, 'other:other': 4_000 })
  })

  it('settles what a request really cost', () => {
    const { stage, heard } = recorder('one')
    const gate = gateOf([stage])
    permitOf(gate.admit({ flow: 'a', cost: 5 }) as Decision).finish('success', { cost: 7.5 })
    permitOf(gate.admit({ flow: 'a', cost: 5 }) as Decision).finish('ignored')
    expect(heard).toEqual(['admit', 'finish success 7.5', 'admit', 'finish ignored 5'])
  })

  it('counts only the first finish', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<Outcome>('success', 'failure', 'ignored'), { minLength: 1 }), (outcomes) => {
        const { stage, heard } = recorder('one')
        const gate = gateOf([stage])
        const permit = permitOf(admitNow(gate))
        for (const outcome of outcomes) permit.finish(outcome)
        expect(heard).toEqual(['admit', `finish ${outcomes[0]} 1`])
        expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0, finished: { [outcomes[0]!]: 1 } })
      }),
    )
  })

  it('answers at once where no stage waits', () => {
    expect(admitNow(createGate()).admitted).toBe(true)
  })

  it('lets a stage keep nothing', () => {
    const gate = gateOf([recorder('one', () => undefined).stage])
    permitOf(admitNow(gate)).finish('success')
    expect(gate.snapshot()).toMatchObject({ stageErrors: 0, finished: { success: 1 } })
  })

  it('shares one reading of the clock among the stages of a call', () => {
    let reads = 0
    const seen: number[] = []
    const look = (name: string): Stage => ({ name, admit: (passage) => void seen.push(passage.nowMs) })
    const gate = gateOf([look('one'), look('two')], { clock: () => ++reads })
    reads = 10
    admitNow(gate)
    expect(seen).toEqual([11, 11])
  })
})

describe('what is no answer of a stage', () => {
  it.each([
    [null, 'null'],
    [false, 'false'],
    [true, 'true'],
    [{}, 'an object'],
  ])('%j is an error, for which onError decides, now and later', async (given, shown) => {
    for (const admit of [() => given as never, async () => given as never]) {
      for (const onError of ['admit', 'refuse'] as const) {
        const one = recorder('one')
        const gate = gateOf([one.stage, { name: 'own', onError, admit }])
        const errors: string[] = []
        gate.observe((event) => {
          if (event.type === 'error') errors.push(String(event.error))
        })
        const decision = await gate.admit({ flow: 'a' })
        if (decision.admitted) decision.finish('success')
        expect([decision.admitted, ...one.heard]).toEqual(
          onError === 'admit' ? [true, 'admit', 'finish success 1'] : [false, 'admit', 'undo own:error'],
        )
        expect(errors).toEqual([`TypeError: own must give a hold, a refusal or nothing, got ${shown}`])
        expect(gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, stageErrors: 1 })
      }
    }
  })

  it('is an error also when it comes too late', async () => {
    const wait = deferred<Verdict>()
    const gate = gateOf([{ name: 'own', admit: () => wait.promise }])
    const client = new AbortController()
    const pending = gate.admit({ flow: 'a', signal: client.signal })
    client.abort()
    expect(await pending).toMatchObject({ reason: 'gone' })
    wait.resolve(null as never)
    await wait.promise
    await Promise.resolve()
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, stageErrors: 1 })
  })
})

describe('refusing', () => {
  const full = refuse('two', 'overload', true, 500)

  it('gives back at once what earlier stages handed out, and asks no later one', () => {
    const [one, three] = [recorder('one'), recorder('three')]
    const gate = gateOf([one.stage, recorder('two', () => full).stage, three.stage])
    expect(admitNow(gate)).toEqual(full)
    expect(one.heard).toEqual(['admit', 'undo two:overload'])
    expect(three.heard).toEqual([])
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, refused: 1, refusedBy: { 'two:overload': 1 } })
  })

  it.each([
    ['teaches FAIR that the flow failed, where it means shortage', true, 0.04],
    ['teaches FAIR nothing where it does not', false, 0],
  ])('%s', (_, shortage, probability) => {
    const gate = createGate({
      fair: blue(),
      clock: manualClock(),
      stages: [recorder('two', () => refuse('two', 'no', shortage, 0)).stage],
    })
    admitNow(gate, 'loud')
    const { failures, hotBuckets } = gate.snapshot().stages['fair'] as { failures: number; hotBuckets: number }
    expect(failures).toBe(probability === 0 ? 0 : 1)
    expect(hotBuckets).toBe(0)
  })

  it('spares what is exempt, and learns nothing from it', () => {
    const gate = createGate({ fair: blue(), clock: manualClock(), random: () => 0 })
    const admit = (exempt: boolean): Decision => gate.admit({ flow: 'probe', exempt }) as Decision
    for (let i = 0; i < 30; i++) permitOf(admit(true)).finish('failure')
    permitOf(admit(false)).finish('failure')
    expect(admit(false)).toMatchObject({ admitted: false, detail: { probability: 0.04 } })
    expect(admit(true).admitted).toBe(true)
  })

  it('explains itself', () => {
    const gate = createGate({ fair: blue(), clock: manualClock(), random: () => 0 })
    for (let i = 0; i < 10; i++) permitOf(admitNow(gate, `f${i}`)).finish('success')
    for (let i = 0; i < 3; i++) {
      const decision = admitNow(gate, 'loud')
      if (decision.admitted) decision.finish('failure')
    }
    expect(admitNow(gate, 'loud')).toEqual({
      admitted: false,
      stage: 'fair',
      reason: 'unfair',
      shortage: false,
      retryAfterMs: 1000 / (1 - 0.04),
      detail: { probability: 0.04 },
    })
  })
})

describe('observing', () => {
  it('tells decisions and outcomes as they happen', () => {
    const clock = manualClock()
    const events: GateEvent[] = []
    let answer: Verdict
    const gate = gateOf([recorder('one', () => answer).stage], { clock })
    const stop = gate.observe((event) => events.push(event))
    const permit = permitOf(admitNow(gate, 'a'))
    clock.advance(12)
    permit.finish('failure', { cost: 3 })
    answer = refuse('one', 'no', false, 0)
    admitNow(gate, 'b')
    stop()
    admitNow(gate, 'c')
    expect(events).toEqual([
      { type: 'admitted', id: 1, flow: 'a', cost: 1, waitedMs: 0 },
      { type: 'finished', id: 1, flow: 'a', cost: 3, outcome: 'failure', waitedMs: 0, durationMs: 12 },
      { type: 'refused', id: 2, flow: 'b', cost: 1, waitedMs: 0, refusal: answer },
    ])
  })

  it('is harmed by no listener that throws', () => {
    const gate = gateOf([])
    const seen: string[] = []
    gate.observe(() => {
      throw new Error('listener')
    })
    gate.observe(({ type }) => seen.push(type))
    permitOf(admitNow(gate)).finish('success')
    expect(seen).toEqual(['admitted', 'finished'])
    expect(gate.snapshot()).toMatchObject({ listenerErrors: 2, inFlight: 0 })
  })

  it('is not harmed by an async listener that rejects, which would otherwise end the process', async () => {
    const gate = gateOf([])
    gate.observe(async () => {
      throw new Error('listener')
    })
    permitOf(admitNow(gate)).finish('success')
    await new Promise((resolve) => setImmediate(resolve))
    expect(gate.snapshot()).toMatchObject({ listenerErrors: 2, inFlight: 0 })
  })

  it('tells why a stage failed', () => {
    const events: GateEvent[] = []
    const error = new Error('no answer')
    const gate = gateOf([
      {
        name: 'one',
        admit: () => {
          throw error
        },
      },
    ])
    gate.observe((event) => events.push(event))
    admitNow(gate)
    expect(events[0]).toEqual({ type: 'error', stage: 'one', error })
  })
})

describe('closing', () => {
  it('refuses what waits and what comes, and lets what runs finish', async () => {
    const wait = deferred<Verdict>()
    let answer: Verdict | Promise<Verdict>
    const one = recorder('one', () => answer)
    answer = one.hold
    const gate = gateOf([one.stage])
    const running = permitOf(admitNow(gate))
    answer = wait.promise
    const waiting = gate.admit({ flow: 'b' })
    gate.close()
    gate.close()
    expect(await waiting).toMatchObject({ stage: 'gate', reason: 'closed', shortage: false })
    expect(admitNow(gate)).toMatchObject({ stage: 'gate', reason: 'closed' })
    running.finish('success')
    wait.resolve(one.hold)
    await wait.promise
    await Promise.resolve()
    expect(one.heard).toEqual(['admit', 'admit', 'finish success 1', 'undo gate:gone'])
    expect(gate.snapshot()).toMatchObject({ closed: true, inFlight: 0, waiting: 0, finished: { success: 1 } })
  })

  it('refuses a request that a stage let in at the very moment of closing', async () => {
    const wait = deferred<Verdict>()
    const one = recorder('one', () => wait.promise)
    const gate = gateOf([one.stage])
    const pending = gate.admit({ flow: 'a' })
    wait.resolve(one.hold)
    queueMicrotask(() => gate.close())
    expect(await pending).toMatchObject({ reason: 'closed' })
    expect(one.heard).toEqual(['admit', 'undo gate:closed'])
  })

  it('closes every stage once, also after one that throws', () => {
    const closed: string[] = []
    const stage = (name: string): Stage => ({
      name,
      admit: () => undefined,
      close: () => {
        closed.push(name)
        throw new Error(name)
      },
    })
    const gate = gateOf([stage('one'), stage('two')])
    gate.close()
    gate.close()
    expect(closed).toEqual(['one', 'two'])
  })
})

describe('any history', () => {
  it('leaves the gate empty once everything is finished, with each hold given back once', async () => {
    const visit = fc.record({
      answers: fc.array(fc.constantFrom('hold', 'refuse', 'throw', 'later', 'never'), { minLength: 3, maxLength: 3 }),
      end: fc.constantFrom('finish', 'leave'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(visit, { maxLength: 20 }), async (visits) => {
        let out = 0
        const hold = (): Hold => {
          out++
          let given = false
          const back = (): void => {
            expect(given).toBe(false)
            given = true
            out--
          }
          return { finish: back, undo: back }
        }
        let current: string[] = []
        const stage = (i: number): Stage => ({
          name: `s${i}`,
          admit: () => {
            const answer = current[i]
            if (answer === 'hold') return hold()
            if (answer === 'refuse') return refuse(`s${i}`, 'no', true, 0)
            if (answer === 'throw') throw new Error('broken')
            return answer === 'later' ? Promise.resolve().then(hold) : new Promise<Refusal>(() => {})
          },
        })
        const gate = createGate({ stages: [stage(0), stage(1), stage(2)] })
        for (const { answers, end } of visits) {
          current = answers
          const client = new AbortController()
          const pending = gate.admit({ flow: 'a', signal: client.signal })
          if (end === 'leave' || answers.includes('never')) client.abort()
          const decision = await pending
          if (decision.admitted) decision.finish('success')
        }
        await new Promise((resolve) => setImmediate(resolve))
        expect(out).toBe(0)
        expect(gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, listenerErrors: 0 })
      }),
      { numRuns: byWidth(60, 300) },
    )
  })
})

describe('the only flow there is', () => {
  it('is not told that it is over its share: the service is short', () => {
    const clock = manualClock()
    const unfair: Stage = { name: 'fair', admit: () => refuse('fair', 'unfair', false, 1_000) }
    const gate = createGate({ fair: false, stages: [unfair], clock })
    const reasonOf = (flow: string): string => (gate.admit({ flow }) as Refusal).reason
    expect(reasonOf('a')).toBe('overload')
    expect(reasonOf('b')).toBe('unfair')
    expect(reasonOf('b')).toBe('unfair')
    clock.advance(59_999)
    expect(reasonOf('b')).toBe('unfair')
    clock.advance(1)
    expect(reasonOf('b')).toBe('overload')
    expect(reasonOf('a')).toBe('unfair')
  })
})

describe('a client that has left before its flow is known', () => {
  it('does not count as another flow: the only flow there is hears of no share', () => {
    const gate = createGate({
      fair: false,
      stages: [{ name: 'fair', admit: () => refuse('fair', 'unfair', true, 1_000) }],
    })
    gate.admit({ flow: 'a' })
    gate.admit({ flow: 'ip:unknown', signal: AbortSignal.abort() })
    expect(gate.admit({ flow: 'a' })).not.toMatchObject({ reason: 'unfair' })
    gate.admit({ flow: 'b' })
    expect(gate.admit({ flow: 'a' })).toMatchObject({ reason: 'unfair' })
  })
})
