import { createGate, type Gate, type GateOptions, Overrides, refuse, type Stage } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { requestQueue } from '@fairlead/core/queue'
import { settled, World } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { Events } from './fixtures/events.js'
import { type ConsoleOptions, fairConsole } from './index.js'

interface Watched {
  readonly gate: Gate
  readonly events: Events
  ask(query: string): Promise<Response>
  second(): Promise<void>
}

async function watch(options: GateOptions, consoleOptions: ConsoleOptions = {}, query = '?events'): Promise<Watched> {
  const world = new World()
  const { clock, after } = world
  const gate = createGate({ fair: false, clock, after, ...options })
  const page = fairConsole(gate, { clock, after, auth: false, ...consoleOptions })
  const ask = (query: string): Promise<Response> => page(new Request(`http://host/${query}`))
  return {
    gate,
    ask,
    events: new Events(await ask(query)),
    async second() {
      world.advance(1_000)
      await settled()
    },
  }
}

/** Largest frame, in bytes. */
const MOST = 300_000

describe('a frame', () => {
  it('is bounded for any number and length of reasons, names, details and explanations', async () => {
    let reasons = 0
    const endless: Record<string, unknown> = { big: '\ud800'.repeat(1e6), ['\ud800'.repeat(1e6)]: 1 }
    for (let i = 0; i < 1_000; i++) endless[`key-${i}`] = { list: Array(1_000).fill('\ud800'.repeat(300)), endless }
    const rude: Stage = {
      name: '\ud800'.repeat(1_000),
      admit: ({ cost }) =>
        cost > 1 ? refuse('rude', `${'\ud800'.repeat(500)}${reasons++}`, false, 1, endless) : undefined,
      explain: () => endless,
    }
    const shed: Stage = {
      name: 'shed',
      admit: () => undefined,
      snapshot: () => ({
        signals: Array(1_000).fill({
          name: '\ud800'.repeat(1e4),
          problem: '\ud800'.repeat(1e4),
          curve: Array(1e4).fill(0.123456789),
        }),
      }),
    }
    const overrides = new Overrides()
    const nameOf = (i: number): string => `${i}`.padEnd(256, '\ud800')
    const fleet = {
      write() {},
      read: () => Array(1_000).fill(JSON.stringify({ process: '\ud800'.repeat(1e4), atMs: 1e3 })),
    }
    const { gate, events, ask, second } = await watch(
      {
        name: '\ud800'.repeat(1_000),
        stages: [rude, shed],
        overrides,
        budget: escrow({ limit: 1e9, windowMs: 1e6 }),
        queue: requestQueue({ concurrency: 1 }),
      },
      { fleet, process: '\ud800'.repeat(1_000) },
      '?events&record',
    )
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 10_000; i++) overrides.boost(nameOf(i), 2, 1e6)
      for (let i = 0; i < 10_000; i++) void gate.admit({ flow: nameOf(i), cost: 2 })
      for (let i = 0; i < 300; i++) void gate.admit({ flow: nameOf(i) })
      await second()
    }
    for (let i = 0; i < 4; i++) {
      const { event, data } = (await events.next())!
      if (event === 'message') {
        expect(data.length).toBeLessThan(MOST)
        expect(data.length).toBeGreaterThan(MOST / 3)
      } else expect(data.length).toBeLessThan(3 * MOST)
    }
    const why = await (await ask(`?why=${encodeURIComponent(JSON.stringify(nameOf(1)))}`)).text()
    expect(why.length).toBeLessThan(MOST)
    gate.close()
  })

  it('counts the most frequent reasons one by one, and all others together', async () => {
    const made: Stage = { name: 'made', admit: ({ flow }) => refuse('made', flow, false, 1) }
    const { gate, events, second } = await watch({ stages: [made] })
    for (let i = 0; i < 1_000; i++) for (const flow of ['often', `once-${i}`]) gate.admit({ flow })
    await second()
    const { refusedBy } = await events.frame()
    expect(Object.keys(refusedBy)).toHaveLength(33)
    expect(refusedBy).toMatchObject({ 'made:often': 1_000, others: 1_000 - 31 })
  })

  it('shows the overrides of its flows, and the latest, of any number', async () => {
    const overrides = new Overrides()
    overrides.hold('asks', 10, 1e6)
    for (let i = 0; i < 1_000; i++) overrides.boost(`flow-${i}`, 2, 1e6)
    const { gate, events, second } = await watch({ overrides })
    gate.admit({ flow: 'asks' })
    await second()
    const shown = (await events.frame()).overrides.map(({ flow }) => flow)
    expect(shown).toHaveLength(33)
    expect(shown).toEqual(expect.arrayContaining(['asks', 'flow-999']))
  })

  it('tells of a detail as much as there is room for, and no more of what JSON cannot tell', async () => {
    const self: Record<string, unknown> = { a: 1 }
    self['self'] = self
    const details: Record<string, unknown>[] = [
      { text: 'x'.repeat(1e6), after: 1 },
      { big: 5n, symbol: Symbol('x'), call: () => 1, left: 3, never: Number.NaN },
      { deep: { list: [1, 'two', { three: true }] } },
      self,
      {
        get bad() {
          throw new Error('bad')
        },
      },
      JSON.parse('{"__proto__": {"polluted": 1}}'),
    ]
    const rude: Stage = { name: 'rude', admit: ({ cost }) => refuse('rude', 'no', false, 1, details[cost - 1]) }
    const { gate, events, second } = await watch({ stages: [rude] })
    for (let cost = 1; cost <= details.length; cost++) gate.admit({ flow: 'a', cost })
    await second()
    const told = (await events.frame()).refusals.map(({ detail }) => JSON.stringify(detail))
    expect(told).toEqual([
      JSON.stringify({ text: `${'x'.repeat(255)}…`, after: 1 }),
      '{"left":3,"never":null}',
      '{"deep":{"list":[1,"two",{"three":true}]}}',
      '{"a":1,"self":{"a":1,"self":{"a":1,"self":{"a":1}}}}',
      '{}',
      '{"__proto__":{"polluted":1}}',
    ])
  })
})

describe('where names are hashed', () => {
  it('no word of a stage has one: not in details, their keys, explanations, errors nor problems', async () => {
    const secret = 'tenant-secret'
    const chatty: Stage = {
      name: 'chatty',
      admit: ({ flow, cost }) =>
        cost > 1
          ? refuse('chatty', 'no', false, 1, { [flow]: 3, text: flow, deep: { [flow]: [flow] }, waitMs: 5 })
          : undefined,
      explain: (flow) => ({ who: flow, [flow]: 1 }),
      snapshot: () => ({ secret }),
    }
    const throwing: Stage = {
      name: 'fair',
      admit: () => undefined,
      explain: (flow) => {
        throw new Error(`no ${flow}`)
      },
    }
    const shed: Stage = {
      name: 'shed',
      admit: () => undefined,
      snapshot: () => ({ signals: [{ name: 'load', problem: `no ${secret}` }] }),
    }
    const { gate, events, ask, second } = await watch(
      {
        stages: [chatty, throwing, shed],
        overrides: new Overrides(),
        budget: escrow({ limit: 100, windowMs: 1e6 }),
        queue: requestQueue({ concurrency: 1 }),
      },
      { hashFlows: true },
      '?events&record',
    )
    gate.overrides!.hold(secret, 100, 60_000)
    for (const cost of [1, 1, 2]) void gate.admit({ flow: secret, cost })
    await settled()
    await second()
    const message = (await events.next())!
    expect(message.data).not.toContain(secret)
    expect((await events.next())!.data).not.toContain(secret)
    const { flows, refusals, shed: signals } = JSON.parse(message.data)
    expect(refusals[0].detail).toEqual({ waitMs: 5 })
    expect(signals[0].problem).toBe('has a problem')
    const why = await (await ask(`?why=${encodeURIComponent(JSON.stringify(flows[0].flow))}`)).text()
    expect(why).not.toContain(secret)
    expect(JSON.parse(why)).toMatchObject({ overrides: { kind: 'hold', costPerSecond: 100 }, queue: { waiting: 1 } })
    gate.close()
  })
})
