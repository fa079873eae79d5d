import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createGate, type Decision, type Gate, type GateOptions, type Permit } from '../index.js'
import { requestQueue } from '../queue/request-queue.js'
import { settled } from '../testing/world.js'
import { Office } from './fixtures/office.js'
import { type GaugeLease, LeaseStage, type LeaseStageOptions, lease, type RateLease } from './index.js'

type Options = Omit<LeaseStageOptions, 'resource'>

async function gateOn(
  kind: 'rate' | 'gauge',
  capacity: number,
  options: Options = {},
  more: GateOptions = {},
): Promise<{ office: Office; gate: Gate; resource: RateLease | GaugeLease }> {
  const office = new Office((request) => office.grant(request, capacity, { lengthS: 3_600, refreshS: 3_600 }))
  const resource = kind === 'rate' ? office.client.rate('x', { wants: 9 }) : office.client.gauge('x', { wants: 9 })
  await office.advance(0)
  const { clock, after } = office.world
  const gate = createGate({ fair: false, doorman: lease({ resource, ...options }), clock, after, ...more })
  return { office, gate, resource }
}

function permitOf(decision: Decision | Promise<Decision>): Permit {
  if (decision instanceof Promise || !decision.admitted) throw new Error('not admitted at once')
  return decision
}

describe("a gate's stage that keeps inside a lease", () => {
  it('admits at once what the rate allows, then after a wait, and refuses what would wait too long', async () => {
    const { office, gate } = await gateOn('rate', 2)
    const asked = [0, 1, 2, 3, 4, 5].map(() => gate.admit({ flow: 'a' }))
    expect(asked.map((decision) => decision instanceof Promise)).toEqual([false, false, true, true, true, true])
    await office.advance(1_000)
    const decisions = await Promise.all(asked)
    expect(decisions.map(({ admitted }) => admitted)).toEqual([true, true, true, true, false, false])
    expect(decisions[5]).toMatchObject({
      stage: 'doorman',
      reason: 'overload',
      shortage: true,
      detail: { capacity: 2 },
    })
    expect(gate.snapshot()).toMatchObject({ waiting: 0, stages: { doorman: { refused: 2, resource: { waiting: 0 } } } })
    expect(office.world.timers).toBe(1)
  })

  it('spends the cost of a request, and says when there may be as much again', async () => {
    const { gate, resource } = await gateOn('rate', 10, { maxWaitMs: 0 })
    permitOf(gate.admit({ flow: 'a', cost: 8 }))
    expect(gate.admit({ flow: 'a', cost: 30 })).toMatchObject({ retryAfterMs: 3_000 })
    expect(gate.admit({ flow: 'a', cost: 3 })).toMatchObject({ retryAfterMs: 1_000 })
    expect(resource.inFlight).toBe(8)
  })

  it('holds one slot of a gauge for as long as a request runs', async () => {
    const { office, gate, resource } = await gateOn('gauge', 1)
    const first = permitOf(gate.admit({ flow: 'a', cost: 7 }))
    const second = gate.admit({ flow: 'b' })
    expect([second instanceof Promise, resource.inFlight]).toEqual([true, 1])
    first.finish('failure')
    first.finish('failure')
    await office.advance(0)
    const { admitted } = await second
    expect([admitted, resource.inFlight]).toEqual([true, 1])
    permitOf(await second).finish('success')
    expect(resource.inFlight).toBe(0)
  })

  it.each(['rate', 'gauge'] as const)('gives a %s back when a later stage refuses', async (kind) => {
    const queue = requestQueue({ concurrency: 1, maxWaiting: 1, maxWaitMs: 500 })
    const { office, gate, resource } = await gateOn(kind, 3, {}, { queue })
    permitOf(gate.admit({ flow: 'a' }))
    const waiting = gate.admit({ flow: 'b' })
    expect(resource.inFlight).toBe(2)
    await office.advance(500)
    expect(await waiting).toMatchObject({ stage: 'queue', reason: 'expired' })
    expect(resource.inFlight).toBe(1)
  })

  it.each(['rate', 'gauge'] as const)('forgets who left while waiting for a %s', async (kind) => {
    const { office, gate, resource } = await gateOn(kind, 0)
    const controller = new AbortController()
    const waiting = gate.admit({ flow: 'a', signal: controller.signal })
    controller.abort()
    expect(await waiting).toMatchObject({ reason: 'gone', shortage: false })
    await settled()
    expect([resource.waiting, office.world.timers]).toEqual([0, 1])
  })

  it('leaves nothing with a signal that lives longer', async () => {
    const { office, gate } = await gateOn('rate', 1, { maxWaitMs: 1_500 })
    const { signal } = new AbortController()
    const asked = [0, 1, 2, 3].map(() => gate.admit({ flow: 'a', signal }))
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
    await office.advance(1_500)
    expect((await Promise.all(asked)).map(({ admitted }) => admitted)).toEqual([true, true, false, false])
    expect(getEventListeners(signal, 'abort').length).toBe(0)
  })

  it.each(['rate', 'gauge'] as const)('lets exempt requests pass, and counts them, on a %s', async (kind) => {
    const { gate, resource } = await gateOn(kind, 1, { maxWaitMs: 0 })
    const permits = [0, 1, 2].map(() => permitOf(gate.admit({ flow: 'health', exempt: true })))
    expect(gate.admit({ flow: 'a' })).toMatchObject({ reason: 'overload' })
    for (const permit of permits) permit.finish('success')
    expect(gate.admit({ flow: 'a' })).toMatchObject({ admitted: kind === 'gauge' })
    expect(resource.inFlight).toBe(kind === 'gauge' ? 1 : 0)
  })

  it('charges what a request really cost', async () => {
    const { office, gate } = await gateOn('rate', 10, { maxWaitMs: 0 })
    permitOf(gate.admit({ flow: 'a', cost: 10 })).finish('success', { cost: 4 })
    permitOf(gate.admit({ flow: 'a', cost: 6 })).finish('success', { cost: 16 })
    expect(gate.admit({ flow: 'a' })).toMatchObject({ admitted: false })
    await office.advance(1_000)
    expect(gate.admit({ flow: 'a' })).toMatchObject({ admitted: false })
    await office.advance(1_000)
    permitOf(gate.admit({ flow: 'a', cost: 10 }))
  })

  it('lets no more wait than may', async () => {
    const { gate, resource } = await gateOn('gauge', 0, { maxWaiting: 2 })
    const asked = [0, 1, 2].map(() => gate.admit({ flow: 'a' }))
    expect([resource.waiting, asked[2]]).toMatchObject([2, { reason: 'overload' }])
    gate.close()
    expect(await asked[0]).toMatchObject({ reason: 'closed' })
  })

  it.each([
    ['admit', true],
    ['refuse', false],
  ] as const)('does what onError says, %s, when the lease is closed', async (onError, admitted) => {
    const { gate, resource } = await gateOn('rate', 0, { onError })
    const waiting = gate.admit({ flow: 'a' })
    resource.close()
    expect((await waiting).admitted).toBe(admitted)
    expect((await gate.admit({ flow: 'a' })).admitted).toBe(admitted)
    expect(gate.snapshot().stageErrors).toBe(2)
  })

  it('leaves it to the mode of the lease what happens without a server', async () => {
    const { office, gate } = await gateOn('rate', 1, { maxWaitMs: 0 })
    office.answer = (request) => office.grant(request, 0, { lengthS: 0, safe: 2 })
    await office.advance(3_600_000)
    permitOf(gate.admit({ flow: 'a' }))
    permitOf(gate.admit({ flow: 'a' }))
    expect(gate.admit({ flow: 'a' })).toMatchObject({ reason: 'overload', detail: { capacity: 2 } })
  })

  it('teaches FAIR to leave those alone who do not cause the shortage', async () => {
    const { office, gate } = await gateOn('rate', 20, { maxWaitMs: 0 }, { fair: {} })
    const said: Record<string, string[]> = { greedy: [], quiet: [] }
    const ask = (flow: string): void => {
      const decision = gate.admit({ flow })
      if (decision instanceof Promise) throw new Error('waits')
      said[flow]!.push(decision.admitted ? 'admitted' : decision.reason)
      if (decision.admitted) decision.finish('success')
    }
    // Every tenth of a second: ten requests of one flow, and one of another in every fifth. The capacity is enough for
    // two.
    const tenths = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        for (let request = 0; request < 10; request++) ask('greedy')
        if (i % 5 === 0) ask('quiet')
        await office.advance(100)
      }
    }
    await tenths(200)
    said['greedy'] = []
    said['quiet'] = []
    await tenths(200)
    const count = (flow: string, what: string): number => said[flow]!.filter((each) => each === what).length
    // The quiet flow gets at least half of its requests, although the other arrives first, with ten at a time.
    expect(count('quiet', 'admitted')).toBeGreaterThan(15)
    expect(count('quiet', 'unfair')).toBe(0)
    expect(count('greedy', 'admitted') + count('quiet', 'admitted')).toBeGreaterThan(300)
  })

  it.each([
    [{ resource: {} }, 'resource must be a lease of a rate or a gauge, got an object'],
    [{ maxWaitMs: -1 }, 'maxWaitMs must be a number >= 0, got -1'],
    [{ maxWaiting: 0.5 }, 'maxWaiting must be an integer >= 0, got 0.5'],
    [{ onError: 'wait' }, 'onError must be one of "admit", "refuse", got "wait"'],
    [{ wants: 1 }, 'doorman has no option "wants"'],
  ])('refuses %o', async (options, message) => {
    const { resource } = await gateOn('rate', 1)
    const wrong: object = { resource, ...options }
    expect(() => new LeaseStage(wrong as LeaseStageOptions)).toThrow(message)
    expect(() => createGate({ doorman: lease(wrong as LeaseStageOptions) })).toThrow(message)
  })
})
