import { describe, expect, it } from 'vitest'
import type { Ask, Decision, Permit } from '../admission/decision.js'
import type { Stage } from '../admission/stage.js'
import { createGate } from '../create-gate.js'
import { seededRandom } from '../testing/seeded-random.js'
import { World } from '../testing/world.js'
import type { RequestQueueOptions } from './options.js'
import { RequestQueue } from './request-queue.js'

/** A gate of FAIR and a waiting queue, with a counter of reports to FAIR. */
function gateOf(options: Partial<RequestQueueOptions> = {}, later?: Stage) {
  const world = new World()
  const seams = { clock: world.clock, after: world.after, random: seededRandom(3) }
  const queue = new RequestQueue({ concurrency: 1, maxWaitMs: 100, ...seams, ...options })
  const gate = createGate({ stages: later === undefined ? [queue] : [queue, later], ...seams })
  const failures = (): unknown => gate.snapshot().stages['fair']
  const decisions = new Map<string, Decision>()
  const ask = async (name: string, wish: Partial<Ask> = {}): Promise<void> => {
    const answer = gate.admit({ flow: name, ...wish })
    if (answer instanceof Promise) void answer.then((decision) => decisions.set(name, decision))
    else decisions.set(name, answer)
    await settled()
  }
  const permit = (name: string): Permit => {
    const decision = decisions.get(name)
    if (decision?.admitted !== true) throw new Error(`${name} does not run`)
    return decision
  }
  return { world, queue, gate, failures, decisions, ask, permit }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

describe('in a gate', () => {
  it('lets what waited run, and hears how it ended', async () => {
    const { ask, decisions, permit, world, queue, gate } = gateOf()
    await ask('a')
    await ask('b')
    expect(decisions.has('b')).toBe(false)
    world.advance(40)
    permit('a').finish('success')
    await settled()
    expect(permit('b').waitedMs).toBe(40)
    permit('b').finish('success', { cost: 5 })
    expect(queue.snapshot()).toMatchObject({ running: 0, waiting: 0, capacity: { inFlight: 0 } })
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, stageErrors: 0 })
  })

  it('teaches FAIR the refusals that mean shortage, once each', async () => {
    const { ask, world, failures, decisions } = gateOf({ perFlowLimit: 2, maxWaiting: 3 })
    for (let i = 0; i < 3; i++) await ask(i === 0 ? 'x' : 'a')
    expect(failures()).toMatchObject({ failures: 0 })
    await ask('a')
    expect(decisions.get('a')).toMatchObject({ stage: 'queue', reason: 'flow-full', shortage: true })
    expect(failures()).toMatchObject({ failures: 1 })
    await ask('b')
    await ask('c')
    expect(decisions.get('a')).toMatchObject({ stage: 'queue', reason: 'evicted', shortage: true })
    expect(failures()).toMatchObject({ failures: 2 })
    world.advance(100)
    await settled()
    expect(decisions.get('b')).toMatchObject({ stage: 'queue', reason: 'expired', shortage: true })
    expect(failures()).toMatchObject({ failures: 5 })
  })

  it('teaches FAIR nothing by those that no capacity would have helped', async () => {
    const { ask, failures, decisions, gate, world } = gateOf({
      deadlineMsOf: ({ flow }) => (flow === 'd' ? 0 : undefined),
    })
    const controller = new AbortController()
    await ask('x')
    await ask('d')
    expect(decisions.get('d')).toMatchObject({ reason: 'deadline' })
    await ask('g', { signal: controller.signal })
    controller.abort()
    await settled()
    expect(decisions.get('g')).toMatchObject({ reason: 'gone' })
    await ask('c')
    gate.close()
    await settled()
    expect(decisions.get('c')).toMatchObject({ reason: 'closed' })
    expect(failures()).toMatchObject({ failures: 0 })
    expect(world.timers).toBe(0)
  })

  it('makes a signal only for what waits', async () => {
    const { ask } = gateOf()
    let made = 0
    const signal = (): AbortSignal => {
      made++
      return new AbortController().signal
    }
    await ask('x', { signal })
    expect(made).toBe(0)
    await ask('a', { signal })
    expect(made).toBe(1)
  })

  it('gives the slot on when a later stage refuses, and its flow its turn back', async () => {
    const refusing: Stage = {
      name: 'later',
      admit: ({ flow }) =>
        flow === 'a'
          ? { admitted: false, stage: 'later', reason: 'no', shortage: false, retryAfterMs: 0, detail: {} }
          : undefined,
    }
    const { ask, permit, queue, decisions } = gateOf({}, refusing)
    await ask('x')
    await ask('a')
    await ask('b')
    permit('x').finish('success')
    await settled()
    expect(decisions.get('a')).toMatchObject({ admitted: false, reason: 'no' })
    expect(decisions.get('b')?.admitted).toBe(true)
    expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 0, capacity: { inFlight: 1 } })
  })

  it('gives the slot on when the client leaves in the moment in which it starts', async () => {
    const { ask, permit, queue, decisions } = gateOf()
    const controller = new AbortController()
    await ask('x')
    await ask('a', { signal: controller.signal })
    permit('x').finish('success')
    controller.abort()
    await settled()
    expect(decisions.get('a')).toMatchObject({ reason: 'gone' })
    expect(queue.snapshot()).toMatchObject({ running: 0, capacity: { inFlight: 0 } })
  })

  it('refuses when it is given a queue whose option throws, unless onError says otherwise', async () => {
    const width = (): number => {
      throw new Error('broken')
    }
    const open = gateOf({ width, onError: 'admit' })
    await open.ask('a')
    expect(open.decisions.get('a')?.admitted).toBe(true)
    const closed = gateOf({ width })
    await closed.ask('a')
    expect(closed.decisions.get('a')).toMatchObject({ reason: 'error', shortage: false })
    expect(closed.gate.snapshot().stageErrors).toBe(1)
  })

  it('frees the slot although the settled cost meets a weightOf that throws', async () => {
    let works = true
    const weightOf = (): number => {
      if (!works) throw new Error('broken')
      return 1
    }
    const { ask, permit, queue, gate } = gateOf({ weightOf })
    await ask('x')
    await ask('a')
    permit('x').finish('success')
    await settled()
    works = false
    permit('a').finish('success', { cost: 7 })
    expect(queue.snapshot()).toMatchObject({ running: 0, capacity: { inFlight: 0 } })
    expect(gate.snapshot()).toMatchObject({ inFlight: 0 })
  })
})
