import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { requestQueue } from '../queue/request-queue.js'
import { manualClock } from '../testing/manual-clock.js'
import { admitNow, deferred, gateOf, manualTimers, permitOf, recorder } from './fixtures/gates.js'
import { refuse } from './refusal.js'
import type { Hold, Passage, Stage, Verdict } from './stage.js'

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

    it('lets the stage answer, and states itself why nothing is admitted', async () => {
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
