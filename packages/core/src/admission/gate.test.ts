import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Capacity } from '../capacity/index.js'
import { createGate, type GateOptions } from '../create-gate.js'
import { blue } from '../fair/index.js'
import type { ClockLink } from '../fair/shared/report.js'
import { requestQueue } from '../queue/stage.js'
import { loadShedder } from '../shed/index.js'
import { manualClock } from '../testing/manual-clock.js'
import type { Decision, Permit } from './decision.js'
import type { GateEvent } from './events.js'
import type { Gate } from './gate.js'
import type { Outcome } from './outcome.js'
import { type Refusal, refuse } from './refusal.js'
import type { Hold, Passage, Stage, Verdict } from './stage.js'

/** A stage that writes down all it hears, and answers what it is told to. */
function recorder(name: string, answer?: () => Verdict | Promise<Verdict>, extra: Partial<Stage> = {}) {
  const heard: string[] = []
  const hold: Hold = {
    finish: (outcome, cost) => void heard.push(`finish ${outcome} ${cost}`),
    undo: (refusal) => void heard.push(`undo ${refusal.stage}:${refusal.reason}`),
  }
  const stage: Stage = {
    name,
    admit: () => {
      heard.push('admit')
      return answer ? answer() : hold
    },
    ...extra,
  }
  return { stage, heard, hold }
}

/** A promise and the functions that settle it. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: unknown) => void } {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Timers that fire when they are told to. */
function manualTimers() {
  const pending = new Map<number, () => void>()
  let next = 0
  return {
    after: (_ms: number, fn: () => void) => {
      const id = next++
      pending.set(id, fn)
      return () => void pending.delete(id)
    },
    pending,
    fire: () => {
      for (const [id, fn] of [...pending]) {
        pending.delete(id)
        fn()
      }
    },
  }
}

const gateOf = (stages: Stage[], options: GateOptions = {}): Gate => createGate({ fair: false, stages, ...options })

function admitNow(gate: Gate, flow = 'a'): Decision {
  const decision = gate.admit({ flow })
  if (decision instanceof Promise) throw new Error('the gate waits')
  return decision
}

function permitOf(decision: Decision): Permit {
  if (!decision.admitted) throw new Error(`refused: ${decision.reason}`)
  return decision
}

describe('admitting', () => {
  it('asks the stages in order, and tells each how the request ended', () => {
    const [one, two] = [recorder('one'), recorder('two')]
    const permit = permitOf(admitNow(gateOf([one.stage, two.stage])))
    permit.finish('success')
    expect(one.heard).toEqual(['admit', 'finish success 1'])
    expect(two.heard).toEqual(['admit', 'finish success 1'])
  })

  it('settles what a request really cost', () => {
    const { stage, heard } = recorder('one')
    const gate = gateOf([stage])
    permitOf(gate.admit({ flow: 'a', cost: 5 }) as Decision).finish('success', { cost: 7.5 })
    permitOf(gate.admit({ flow: 'a', cost: 5 }) as Decision).finish('ignored')
    expect(heard).toEqual(['admit', 'finish success 7.5', 'admit', 'finish ignored 5'])
  })

  it('counts one finish only, whatever comes after', () => {
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

describe('waiting', () => {
  it('answers later where a stage does, and goes on with the next', async () => {
    const clock = manualClock()
    const wait = deferred<Verdict>()
    const [one, two] = [recorder('one', () => wait.promise), recorder('two')]
    const gate = gateOf([one.stage, two.stage], { clock })
    const pending = gate.admit({ flow: 'a' })
    expect(gate.snapshot().waiting).toBe(1)
    clock.advance(30)
    wait.resolve(one.hold)
    const permit = permitOf(await pending)
    expect(permit.waitedMs).toBe(30)
    permit.finish('success')
    expect(one.heard).toEqual(['admit', 'finish success 1'])
    expect(two.heard).toEqual(['admit', 'finish success 1'])
    expect(gate.snapshot()).toMatchObject({ waiting: 0, inFlight: 0 })
  })

  it('refuses as gone when the client leaves, and gives back what comes too late', async () => {
    const wait = deferred<Verdict>()
    const [one, two] = [recorder('one'), recorder('two', () => wait.promise)]
    const gate = gateOf([one.stage, two.stage])
    const client = new AbortController()
    const pending = gate.admit({ flow: 'a', signal: client.signal })
    client.abort()
    expect(await pending).toMatchObject({ admitted: false, stage: 'gate', reason: 'gone', shortage: false })
    expect(one.heard).toEqual(['admit', 'undo gate:gone'])
    wait.resolve(two.hold)
    await wait.promise
    await Promise.resolve()
    expect(two.heard).toEqual(['admit', 'undo gate:gone'])
    expect(gate.snapshot()).toMatchObject({ waiting: 0, inFlight: 0, admitted: 0 })
  })

  it('refuses as gone a client that left in the very moment it was let in', async () => {
    const wait = deferred<Verdict>()
    const one = recorder('one', () => wait.promise)
    const client = new AbortController()
    const pending = gateOf([one.stage]).admit({ flow: 'a', signal: client.signal })
    wait.resolve(one.hold)
    queueMicrotask(() => client.abort())
    expect(await pending).toMatchObject({ admitted: false, reason: 'gone' })
    expect(one.heard).toEqual(['admit', 'undo gate:gone'])
  })

  it.each([
    ['is none', () => 5, 'RangeError: signal() must be an AbortSignal, got 5'],
    [
      'cannot be made',
      () => {
        throw new Error('no signal here')
      },
      'Error: no signal here',
    ],
  ])('waits without a signal that %s, keeps the turns, and says so once', async (_, signal, error) => {
    const gate = createGate({ fair: false, queue: requestQueue({ concurrency: 1 }) })
    const errors: string[] = []
    gate.observe((event) => {
      if (event.type === 'error') errors.push(`${event.stage}: ${event.error}`)
    })
    const first = admitNow(gate)
    const second = gate.admit({ flow: 'b', signal: signal as never })
    expect(gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 1, stageErrors: 1 })
    permitOf(first).finish('success')
    expect(await second).toMatchObject({ admitted: true })
    expect(errors).toEqual([`signal: ${error}`])
  })

  it('asks no stage for a client that is gone already', () => {
    const one = recorder('one')
    const gate = gateOf([one.stage])
    expect(gate.admit({ flow: 'a', signal: AbortSignal.abort() })).toMatchObject({ reason: 'gone' })
    expect(one.heard).toEqual([])
  })

  it('leaves no listener on the signal', async () => {
    const client = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = client.signal
    client.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++
      return addEventListener.apply(client.signal, args)
    }
    client.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--
      return removeEventListener.apply(client.signal, args)
    }
    const gate = gateOf([recorder('one', async () => undefined).stage])
    await gate.admit({ flow: 'a', signal: client.signal })
    expect(listeners).toBe(0)
  })

  describe('for a stage that is prompt', () => {
    /** It refuses at once when the client leaves or the gate closes. */
    function prompt(): { stage: Stage; wait: ReturnType<typeof deferred<Verdict>> } {
      const wait = deferred<Verdict>()
      const give = (reason: string) => () => wait.resolve(refuse('own', reason, true, 1))
      const admit = ({ signal }: Passage): Promise<Verdict> => {
        signal?.addEventListener('abort', give('left'))
        return wait.promise
      }
      return { stage: { name: 'own', prompt: true, admit, close: give('shut') }, wait }
    }

    it('has the stage answer, and says itself why nobody is let in', async () => {
      const client = new AbortController()
      const leaving = gateOf([prompt().stage])
      const pending = leaving.admit({ flow: 'a', signal: client.signal })
      client.abort()
      expect(await pending).toMatchObject({ stage: 'gate', reason: 'gone', shortage: false })
      const closing = gateOf([prompt().stage])
      const waiting = closing.admit({ flow: 'a' })
      expect(closing.snapshot().waiting).toBe(1)
      closing.close()
      expect(await waiting).toMatchObject({ stage: 'gate', reason: 'closed', shortage: false })
      expect(closing.snapshot()).toMatchObject({ waiting: 0, refusedBy: { 'gate:closed': 1 } })
    })

    it('gives back what was let in just before the client left', async () => {
      const { stage, wait } = prompt()
      const client = new AbortController()
      const pending = gateOf([stage]).admit({ flow: 'a', signal: client.signal })
      const one = recorder('one')
      wait.resolve(one.hold)
      client.abort()
      expect(await pending).toMatchObject({ reason: 'gone' })
      expect(one.heard).toEqual(['undo gate:gone'])
    })

    it('passes on what it says, and does as onError says when it fails', async () => {
      const { stage, wait } = prompt()
      const pending = gateOf([stage]).admit({ flow: 'a' })
      wait.resolve(refuse('own', 'enough', true, 1))
      expect(await pending).toMatchObject({ stage: 'own', reason: 'enough', shortage: true })
      const broken: Stage = { name: 'broken', prompt: true, onError: 'refuse', admit: () => Promise.reject('why') }
      expect(await gateOf([broken]).admit({ flow: 'a' })).toMatchObject({ stage: 'broken', reason: 'error' })
    })

    it('still keeps to its deadline', async () => {
      const { after, fire } = manualTimers()
      const gate = gateOf([{ ...prompt().stage, deadlineMs: 50, onError: 'refuse' }], { after })
      const pending = gate.admit({ flow: 'a' })
      fire()
      expect(await pending).toMatchObject({ stage: 'own', reason: 'error' })
    })
  })
})

describe('stages that fail', () => {
  const broken = (how: string, onError?: 'admit' | 'refuse'): Stage => ({
    name: 'broken',
    ...(onError && { onError }),
    admit: () => {
      if (how === 'throws') throw new Error('no answer')
      return Promise.reject(new Error('no answer'))
    },
  })

  it.each(['throws', 'rejects'])('are passed by if one %s, unless it says otherwise', async (how) => {
    const two = recorder('two')
    const gate = gateOf([broken(how), two.stage])
    permitOf(await gate.admit({ flow: 'a' })).finish('success')
    expect(two.heard).toEqual(['admit', 'finish success 1'])
    expect(gate.snapshot()).toMatchObject({ stageErrors: 1, inFlight: 0 })
  })

  it.each(['throws', 'rejects'])('refuse if one %s and says so', async (how) => {
    const one = recorder('one')
    const gate = gateOf([one.stage, broken(how, 'refuse')])
    expect(await gate.admit({ flow: 'a' })).toMatchObject({ stage: 'broken', reason: 'error', shortage: false })
    expect(one.heard).toEqual(['admit', 'undo broken:error'])
  })

  it.each(['admit', 'refuse'] as const)('are not waited for beyond their deadline (%s)', async (onError) => {
    const timers = manualTimers()
    const wait = deferred<Verdict>()
    const slow = recorder('slow', () => wait.promise, { deadlineMs: 100, onError })
    const gate = gateOf([slow.stage], { after: timers.after })
    const pending = gate.admit({ flow: 'a' })
    timers.fire()
    expect((await pending).admitted).toBe(onError === 'admit')
    wait.resolve(slow.hold)
    await wait.promise
    await Promise.resolve()
    expect(slow.heard).toEqual(['admit', 'undo gate:gone'])
  })

  it('leave no timer behind when they answer in time', async () => {
    const timers = manualTimers()
    const gate = gateOf([recorder('one', async () => undefined, { deadlineMs: 100 }).stage], { after: timers.after })
    await gate.admit({ flow: 'a' })
    expect(timers.pending.size).toBe(0)
  })

  it('keep no other stage from hearing the end', () => {
    const grumpy: Hold = {
      finish: () => {
        throw new Error('finish')
      },
      undo: () => {
        throw new Error('undo')
      },
    }
    const [one, three] = [recorder('one'), recorder('three')]
    let third: Verdict = three.hold
    const gate = gateOf([one.stage, recorder('two', () => grumpy).stage, recorder('three', () => third).stage])
    permitOf(admitNow(gate)).finish('success')
    third = refuse('three', 'no', false, 0)
    admitNow(gate)
    expect(one.heard).toEqual(['admit', 'finish success 1', 'admit', 'undo three:no'])
    expect(three.heard).toEqual(['finish success 1'])
    expect(gate.snapshot()).toMatchObject({ stageErrors: 2, inFlight: 0 })
  })

  it('show their error in the snapshot', () => {
    const bad: Stage = {
      name: 'bad',
      admit: () => undefined,
      snapshot: () => {
        throw new Error('unreadable')
      },
    }
    expect(gateOf([bad]).snapshot().stages).toEqual({ bad: { error: 'Error: unreadable' } })
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
      { numRuns: 300 },
    )
  })
})

describe('misuse', () => {
  it.each<[Record<string, unknown>, string]>([
    [{}, 'flow must be a non-empty string, got undefined'],
    [{ flow: '' }, 'flow must be a non-empty string, got ""'],
    [{ flow: 7 }, 'flow must be a non-empty string, got 7'],
    [{ flow: 'a', cost: Number.NaN }, 'cost must be a number > 0, got NaN'],
    [{ flow: 'a', cost: 0 }, 'cost must be a number > 0, got 0'],
    [{ flow: 'a', cost: -1 }, 'cost must be a number > 0, got -1'],
    [{ flow: 'a', cost: '1' }, 'cost must be a number > 0, got "1"'],
    [{ flow: 'a', cost: Number.POSITIVE_INFINITY }, 'cost must be a number > 0, got Infinity'],
    [{ flow: 'a', signal: null }, 'signal must be an AbortSignal, got null'],
    [{ flow: 'a', signal: 5 }, 'signal must be an AbortSignal, got 5'],
    [{ flow: 'a', signal: {} }, 'signal must be an AbortSignal, got an object'],
    [{ flow: 'a', priority: 3 }, 'priority must be an integer from -2 to 2, got 3'],
    [{ flow: 'a', priority: 0.5 }, 'priority must be an integer from -2 to 2, got 0.5'],
  ])('is thrown before anything is counted: %j', (ask, message) => {
    const one = recorder('one')
    const gate = gateOf([one.stage])
    expect(() => gate.admit(ask as { flow: string })).toThrow(message)
    expect(one.heard).toEqual([])
    expect(gate.snapshot()).toMatchObject({ admitted: 0, refused: 0 })
  })

  it('of finish does not count as one', () => {
    const { stage, heard } = recorder('one')
    const permit = permitOf(admitNow(gateOf([stage])))
    expect(() => permit.finish('ok' as 'success')).toThrow('outcome must be one of')
    expect(() => permit.finish('success', { cost: Number.NaN })).toThrow('cost must be a number >= 0, got NaN')
    permit.finish('success')
    expect(heard).toEqual(['admit', 'finish success 1'])
  })

  it.each<[unknown, string]>([
    [{ fare: {} }, 'gate has no option "fare"'],
    [{ fair: true }, 'fair must be an object, got true'],
    [{ name: 'orders', fair: [] }, 'fair must be an object, got an array'],
    [{ fair: { clock: () => 0 } }, 'fair has no option "clock"'],
    [{ shed: true }, 'shed must be made by loadShedder(), got true'],
    [{ shed: { signal: () => 0 } }, 'shed must be made by loadShedder(), got an object'],
    [{ shed: loadShedder({}) }, 'shed needs either signal or signals'],
    [{ stages: {} }, 'stages must be an array, got an object'],
    [{ stages: [null] }, 'stages must hold stages, got null'],
    [{ stages: [{ name: '', admit: () => undefined }] }, 'stage.name must be a non-empty string'],
    [{ stages: [{ name: 'x' }] }, 'stage x: admit must be a function, got undefined'],
    [{ stages: [{ name: 'x', admit: () => undefined, onError: 'ignore' }] }, 'stage x: onError must be one of'],
    [{ stages: [{ name: 'x', admit: () => undefined, deadlineMs: 0 }] }, 'stage x: deadlineMs must be a number > 0'],
    [{ stages: [{ name: 'fair', admit: () => undefined }] }, 'stages must have distinct names, got "fair" twice'],
    [
      { queue: requestQueue({ concurrency: 1 }), stages: [{ name: 'queue', admit: () => undefined }] },
      'stages must have distinct names',
    ],
    [{ queue: { concurrency: 4 } }, 'queue must be made by requestQueue(), got an object'],
    [{ queue: [] }, 'queue must be made by requestQueue(), got an array'],
    [{ doorman: null }, 'doorman must be made by lease(), got null'],
    [{ budget: { limit: 1, windowMs: 1 } }, 'budget must be made by escrow(), got an object'],
    [{ budget: requestQueue({ concurrency: 1 }) }, 'budget must be made by escrow(), got an object'],
    [{ overrides: {} }, 'overrides must be made by new Overrides(), got an object'],
    [{ clock: 1 }, 'clock must be a function, got 1'],
    [{ random: 1 }, 'random must be a function, got 1'],
    [{ after: 1 }, 'after must be a function, got 1'],
    [null, 'gate must be an object, got null'],
  ])('of createGate names the option: %j', (options, message) => {
    expect(() => createGate(options as GateOptions)).toThrow(message)
  })
})

describe('a gate that cannot be made', () => {
  it('joins no fleet', () => {
    const joined: string[] = []
    const fleet: ClockLink = {
      join(name) {
        joined.push(name)
        return () => {}
      },
    }
    expect(() => createGate({ name: 'orders', fleet, queue: { concurrency: 4 } as never })).toThrow(
      'queue must be made',
    )
    expect(() => createGate({ fleet, stages: [{ name: 'fair', admit: () => undefined }] })).toThrow('"fair" twice')
    expect(() => createGate({ fleet, shed: loadShedder({}) })).toThrow('shed needs either')
    expect(joined).toEqual([])
  })

  it('leaves no listener on a capacity that others may share', () => {
    let listeners = 0
    const capacity: Capacity = {
      limit: 1,
      inFlight: 0,
      maximum: 1,
      tryTake: () => true,
      release: () => {},
      undo: () => {},
      onAvailable: () => {
        listeners++
        return () => void listeners--
      },
      snapshot: () => null,
    }
    const twice: Stage = { name: 'twice', admit: () => undefined }
    expect(() => gateOf([twice, twice], { queue: requestQueue({ concurrency: capacity }) })).toThrow('distinct names')
    expect(listeners).toBe(0)
    gateOf([twice], { queue: requestQueue({ concurrency: capacity }) }).close()
    expect(listeners).toBe(0)
  })
})

describe('flows', () => {
  it('of any length are two if they are two, and are kept short', () => {
    const seen: string[] = []
    const gate = gateOf([{ name: 'one', admit: ({ flow }) => void seen.push(flow) }])
    const long = 'x'.repeat(1 << 20)
    for (const flow of [long, `${long}y`, 'x'.repeat(255), '__proto__']) admitNow(gate, flow)
    expect(new Set(seen).size).toBe(4)
    for (const flow of seen) expect(flow.length).toBeLessThanOrEqual(256)
    expect(seen.slice(2)).toEqual(['x'.repeat(255), '__proto__'])
    admitNow(gate, long)
    expect(seen.at(-1)).toBe(seen[0])
  })

  it('of any length cannot be made to look like another: neither by the same hash nor by the short name itself', () => {
    const seen: string[] = []
    const gate = gateOf([{ name: 'one', admit: ({ flow }) => void seen.push(flow) }])
    const head = 'x'.repeat(300)
    admitNow(gate, `${head}tenant-acme-production`)
    // The same hash by two-lane murmur3, whatever its seed.
    admitNow(gate, `${head}tena\u{cf63}\u{6164}\u{e70a}\u{413}c\u{5480}e-production`)
    admitNow(gate, seen[0]!)
    expect(new Set(seen).size).toBe(3)
  })

  it('that are long are named by the secret: alike where it is the same, else not', () => {
    const nameOf = (nameSecret?: string): string => {
      const seen: string[] = []
      const stages: Stage[] = [{ name: 'one', admit: ({ flow }) => void seen.push(flow) }]
      admitNow(createGate({ fair: false, stages, ...(nameSecret !== undefined && { nameSecret }) }), 'x'.repeat(1_000))
      return seen[0]!
    }
    expect(nameOf('fleet')).toBe(nameOf('fleet'))
    expect(new Set([nameOf('fleet'), nameOf('other'), nameOf()]).size).toBe(3)
    expect(() => nameOf('')).toThrow('nameSecret must be a non-empty string, got ""')
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
