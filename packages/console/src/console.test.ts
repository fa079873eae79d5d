import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { createGate, type Gate, type GateEvent, type GateOptions, Overrides, refuse, type Stage } from '@fairlead/core'
import { settled, World } from '@fairlead/core/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Events } from './fixtures/events.js'
import { Rig } from './fixtures/script.js'
import { fairConsole } from './index.js'

const URL_OF = 'http://service/fairlead'
const get = (rig: Rig, query = '', init: RequestInit = {}): Promise<Response> =>
  rig.console(new Request(`${URL_OF}${query}`, init))
const watch = async (rig: Rig, query = '?events', init?: RequestInit): Promise<Events> =>
  new Events(await get(rig, query, init))

/** Reachable bytes on the heap of this process: garbage is collected first. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

const MINUTES = process.env['FAIRLEAD_PROPERTY_RUNS'] === undefined ? 5 : 60

afterEach(() => vi.unstubAllEnvs())

describe('who may see it', () => {
  it('is rejected without auth, except in development', async () => {
    const rig = new Rig({ quota: {} }, {})
    vi.stubEnv('NODE_ENV', 'production')
    for (const query of ['', '?events', '?why=%22a%22', '?worker', '?act=block&flow="a"&forMs=1000']) {
      const answer = await get(rig, query)
      expect(answer.status).toBe(403)
      expect(await answer.text()).toContain('auth')
    }
    expect(rig.console.viewers).toBe(0)
    vi.stubEnv('NODE_ENV', 'development')
    expect((await get(rig)).status).toBe(200)
  })

  it('is who auth says, asked about every request', async () => {
    const rig = new Rig({ quota: {} }, { auth: async (request) => request.headers.get('x-key') === 'right' })
    for (const query of ['', '?events', '?why=%22a%22', '?worker']) {
      expect((await get(rig, query)).status).toBe(403)
      const answer = await get(rig, query, { headers: { 'x-key': 'right' } })
      expect(answer.status).toBe(200)
      await answer.body?.cancel()
    }
  })

  it('names an option that is wrong', () => {
    const gate = createGate()
    const wrong =
      (options: object): (() => unknown) =>
      () =>
        fairConsole(gate, options)
    expect(() => fairConsole({} as never)).toThrow(/gate must be made by createGate/)
    expect(wrong({ auth: true })).toThrow(/auth must be a function, got true/)
    expect(wrong({ hashFlows: '' })).toThrow(/hashFlows must be a non-empty string/)
    expect(wrong({ maxViewers: 0 })).toThrow(/maxViewers must be an integer >= 1, got 0/)
    expect(wrong({ fleet: { write() {} } })).toThrow(/fleet.read must be a function/)
    expect(wrong({ colour: 'red' })).toThrow(/colour/)
    expect(wrong({ control: true })).toThrow(/control needs a gate with overrides/)
  })
})

describe('the page', () => {
  it('runs and fetches nothing that is not its own', async () => {
    const answer = await get(new Rig({ quota: {} }))
    const html = await answer.text()
    const policy = answer.headers.get('content-security-policy')!
    for (const [kind, tag] of [
      ['script', 'script'],
      ['style', 'style'],
    ] as const) {
      const text = new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`).exec(html)![1]!
      expect(policy).toContain(`${kind}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
    }
    expect(policy).toMatch(/default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/)
    expect(policy).not.toContain('unsafe')
    expect(html.match(/(?:src|href)="[^"]*"/g)).toEqual(['href="data:,"'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('takes 25 kB over the wire', async () => {
    const html = await (await get(new Rig({ quota: {} }))).text()
    expect(gzipSync(html).length).toBeLessThanOrEqual(25_500)
  })

  it('is not confused by the name of a gate', async () => {
    const page = fairConsole(createGate({ name: '</title><script>alert(1)</script>' }), { auth: false })
    expect(await (await page(new Request(URL_OF))).text()).not.toContain('<script>alert')
  })

  it('answers no other methods', async () => {
    const rig = new Rig({ quota: {} })
    expect((await get(rig, '', { method: 'POST' })).status).toBe(405)
    expect((await get(rig, '', { method: 'HEAD' })).status).toBe(200)
  })
})

describe('without viewers', () => {
  it('there is no listener and no timer, before and after viewers, and after broken connections', async () => {
    const rig = new Rig({ quota: {} })
    const observe = rig.gate.observe.bind(rig.gate)
    let listeners = 0
    vi.spyOn(rig.gate, 'observe').mockImplementation((...listener) => {
      listeners++
      const stop = observe(...listener)
      return () => {
        listeners--
        stop()
      }
    })
    await (await get(rig)).text()
    await rig.second({ a: 5 })
    expect(listeners).toBe(0)
    expect(rig.world.timers).toBe(0)
    const [one, two] = [await watch(rig), await watch(rig)]
    expect(listeners).toBe(1)
    expect(rig.world.timers).toBe(1)
    await rig.second({ a: 5 })
    await one.frame()
    await one.leave()
    expect(rig.world.timers).toBe(1)
    await two.leave()
    expect(rig.world.timers).toBe(0)
    expect(rig.console.viewers).toBe(0)
    expect(listeners).toBe(0)
  })

  it('a viewer that does not read is sent away', async () => {
    const rig = new Rig({ quota: {} })
    const answer = await get(rig, '?events')
    for (let i = 0; i < 12; i++) await rig.second({ a: 1 })
    expect(rig.console.viewers).toBe(0)
    expect(rig.world.timers).toBe(0)
    await expect(new Events(answer).next()).rejects.toThrow('left too much unread')
  })

  it('turns away viewers beyond the most, and sends all away when it closes', async () => {
    const rig = new Rig({ quota: {} }, { auth: false, maxViewers: 1 })
    const events = await watch(rig)
    expect((await get(rig, '?events')).status).toBe(503)
    await rig.second({})
    await events.frame()
    rig.console.close()
    expect(await events.next()).toBeUndefined()
    expect(rig.world.timers).toBe(0)
  })
})

describe('a frame', () => {
  it('has what was scripted', async () => {
    const fair = { engaged: true, capacityPerSecond: 40, fairRatePerSecond: 10, failureShare: 0.1 }
    const rig = new Rig({ quota: { heavy: 10 }, fair, load: 20 })
    const events = await watch(rig)
    for (let i = 0; i < 4; i++) void rig.run('runner')
    await settled()
    void rig.gate.admit({ flow: 'waiter' })
    await rig.second({})
    const first = await events.frame()
    expect(first).toMatchObject({ gate: 'orders-db', seconds: 1, asked: 4, inFlight: 4, waiting: 1 })
    expect(first.queue).toMatchObject({
      waiting: 1,
      running: 4,
      flows: [{ flow: 'waiter', waiting: 1, oldestMs: 1_000, running: 0 }],
      capacity: { kind: 'fixed', limit: 4, inFlight: 4 },
    })
    expect(first.fair).toMatchObject({ engaged: true, capacityPerSecond: 40, failureShare: 0.1, sharing: null })
    expect(first.shed).toMatchObject([{ name: 'load', from: 50, to: 100, load: 20, probability: 0 }])
    expect(first.shed[0]!.curve).toHaveLength(21)
    expect(first.budget).toMatchObject({ limit: 1_000_000, used: 5 })
  })

  it('counts what each flow asked, got and lost, and no more than a second of it', async () => {
    const rig = new Rig({ quota: { heavy: 10 } })
    const events = await watch(rig)
    for (let round = 0; round < 3; round++) {
      await rig.second({ heavy: 30, quiet: 4 }, { quiet: 1 })
      const frame = await events.frame()
      expect(frame).toMatchObject({ asked: 34, served: 13, refused: 20, failed: 1, flowCount: 2 })
      expect(frame.refusedBy).toEqual({ 'quota:over': 20 })
      expect(frame.flows).toMatchObject([
        { flow: 'heavy', asked: 30, served: 10, refused: 20, failed: 0 },
        { flow: 'quiet', asked: 4, served: 3, refused: 0, failed: 1 },
      ])
      expect(frame.refusals).toHaveLength(8)
      expect(frame.refusals[0]).toMatchObject({ flow: 'heavy', stage: 'quota', reason: 'over', retryAfterMs: 2_000 })
    }
  })

  it('stays small, and finds the heavy flows, for any number of flows', async () => {
    const rig = new Rig({ quota: {} })
    const events = await watch(rig)
    for (let i = 0; i < 20_000; i++) {
      for (const flow of [`one-of-many-${i}`, ...(i % 10 === 0 ? ['loud'] : [])]) {
        const decision = await rig.gate.admit({ flow })
        if (decision.admitted) decision.finish('success')
      }
    }
    await rig.second({})
    const frame = await events.frame()
    expect(frame.flows).toHaveLength(32)
    const loud = frame.flows.find(({ flow }) => flow === 'loud')
    expect(loud?.asked).toBeGreaterThan(0.9 * 2_000)
    expect(Math.abs(frame.flowCount / 20_001 - 1)).toBeLessThan(0.1)
    expect(JSON.stringify(frame).length).toBeLessThan(16_000)
  })

  it('holds less than a megabyte more after minutes with a thousand new names a second', async () => {
    const world = new World()
    const { clock, after } = world
    const gate = createGate({ clock, after })
    const page = fairConsole(gate, { clock, after, auth: false })
    let names = 0
    const seconds = async (count: number, work: () => unknown): Promise<void> => {
      for (let i = 0; i < count; i++) {
        for (let request = 0; request < 1_000; request++) {
          const decision = await gate.admit({ flow: request % 4 === 0 ? `tenant-${request}` : `name-${names++}` })
          if (decision.admitted) decision.finish('success')
        }
        world.advance(1_000)
        await settled()
        await work()
      }
    }
    const look = async (): Promise<Events> => new Events(await page(new Request(`${URL_OF}?events`)))
    // Node keeps the modules that it loads for the first stream of a process.
    const first = await look()
    await seconds(20, () => first.frame())
    await first.leave()
    const before = heldBytes()
    const events = await look()
    await seconds(60 * MINUTES, () => events.frame())
    expect(heldBytes() - before).toBeLessThan(1e6)
    await events.leave()
    expect(heldBytes() - before).toBeLessThan(2e5)
    gate.close()
  }, 1_200_000)

  it('sends a returning viewer the frames that it missed, and only those', async () => {
    const rig = new Rig({ quota: {} })
    const events = await watch(rig)
    await rig.second({ a: 1 })
    const first = (await events.next())!
    await rig.second({ a: 2 })
    const back = await watch(rig, '?events', { headers: { 'last-event-id': first.id } })
    expect((await back.frame()).asked).toBe(2)
    await rig.second({ a: 3 })
    expect((await back.frame()).asked).toBe(3)
  })

  it.each([false, 'pepper'])('tells of a detail what can be told, hashFlows %s', async (hashFlows) => {
    const rude: Stage = { name: 'rude', admit: ({ cost }) => refuse('rude', 'no', false, 1, detailOf(cost)) }
    const detailOf = (cost: number): Record<string, unknown> =>
      cost === 1 ? { used: 5n } : { tenant: 'acme', left: 3 }
    const world = new World()
    const { clock, after } = world
    const gate = createGate({ fair: false, stages: [rude], clock, after })
    const page = fairConsole(gate, { auth: false, hashFlows, clock, after })
    const events = new Events(await page(new Request('http://host/?events')))
    gate.admit({ flow: 'a', cost: 1 })
    gate.admit({ flow: 'a', cost: 2 })
    world.advance(1_000)
    const { refusals } = await events.frame()
    expect(refusals.map(({ detail }) => detail)).toEqual([{}, hashFlows ? {} : { tenant: 'acme', left: 3 }])
    page.close()
  })

  it('shows no name where names are hashed, and knows a flow by its hash all the same', async () => {
    const rig = new Rig({ quota: { 'secret-tenant': 1 } }, { auth: false, hashFlows: 'pepper', control: true })
    rig.gate.overrides!.boost('secret-tenant', 2, 60_000)
    const events = await watch(rig)
    await rig.second({ 'secret-tenant': 3 })
    for (let i = 0; i < 5; i++) void rig.gate.admit({ flow: 'secret-waiter' })
    await rig.second({})
    for (const _ of [1, 2]) expect((await events.next())!.data).not.toContain('secret')
    await rig.second({})
    const message = (await events.next())!
    expect(message.data).not.toContain('secret')
    const frame = JSON.parse(message.data)
    expect(frame.flows.map(({ flow }: { flow: string }) => flow)).toHaveLength(2)
    const waiter = frame.queue.flows[0].flow
    expect(waiter).toMatch(/^#[0-9a-f]{8}$/)
    expect(await (await get(rig, `?why=${encodeURIComponent(JSON.stringify(waiter))}`)).json()).toMatchObject({
      queue: { waiting: 1 },
    })
    expect((await get(rig, '?why=%22secret-waiter%22')).status).toBe(404)
    const again = new Rig({ quota: {} }, { auth: false, hashFlows: 'pepper' })
    const others = await watch(again)
    await again.second({ 'secret-waiter': 1 })
    expect((await others.frame()).flows[0]?.flow).toBe(waiter)
  })

  it('has the other processes, as far as they say something', async () => {
    const words = new Map<string, string>([
      ['odd', 'no json'],
      ['old', JSON.stringify({ process: 'old', atMs: 0 })],
    ])
    const link = {
      write: (process: string, frame: string) => words.set(process, frame),
      read: () => [...words.values()],
    }
    const rig = new Rig({ quota: { a: 2 } }, { auth: false, process: 'one', fleet: link })
    const twin = fairConsole(createGate({ clock: rig.world.clock }), {
      clock: rig.world.clock,
      after: rig.world.after,
      process: 'two',
      fleet: link,
    })
    const events = await watch(rig)
    await rig.second({ a: 5 })
    await rig.second({ a: 5 })
    await rig.second({ a: 5 })
    let frame = await events.frame()
    while (frame.fleet.length < 2) frame = await events.frame()
    expect(frame.fleet).toMatchObject([
      { process: 'one', admittedPerSecond: 2, refusedPerSecond: 3, inFlight: 0, waiting: 0 },
      { process: 'two', admittedPerSecond: 0 },
    ])
    twin.close()
    rig.console.close()
    expect(rig.world.timers).toBe(0)
  })
})

describe('control', () => {
  const tokenOf = async (rig: Rig): Promise<string> =>
    /name="fairlead-token" content="([0-9a-f]{32})"/.exec(await (await get(rig)).text())?.[1] ?? ''

  it('is off unless it is asked for', async () => {
    const rig = new Rig({ quota: {} })
    expect(await tokenOf(rig)).toBe('')
    const answer = await get(rig, '?act=block&flow="a"&forMs=1000', {
      method: 'POST',
      headers: { 'x-fairlead-token': '' },
    })
    expect(answer.status).toBe(404)
    expect(await rig.gate.admit({ flow: 'a' })).toMatchObject({ admitted: true })
  })

  it('boosts, holds, blocks and undoes, each for a time, and says who did it', async () => {
    const rig = new Rig({ quota: {} }, { auth: () => 'ann', control: true })
    const changes: GateEvent[] = []
    rig.gate.observe((event) => event.type === 'override' && changes.push(event))
    const token = await tokenOf(rig)
    const act = async (query: string): Promise<number> =>
      (await get(rig, `?${query}`, { method: 'POST', headers: { 'x-fairlead-token': token } })).status
    expect(await act('act=block&flow="a"&forMs=5000')).toBe(200)
    expect(await rig.gate.admit({ flow: 'a' })).toMatchObject({ admitted: false, reason: 'blocked' })
    rig.world.advance(5_000)
    expect(await rig.gate.admit({ flow: 'a' })).toMatchObject({ admitted: true })
    expect(await act('act=hold&flow="a"&forMs=5000&costPerSecond=1')).toBe(200)
    expect(await act('act=boost&flow="b"&forMs=5000&factor=2')).toBe(200)
    expect(rig.gate.snapshot().stages['overrides']).toMatchObject({
      a: { kind: 'hold', costPerSecond: 1 },
      b: { factor: 2 },
    })
    expect(await act('act=clear&flow="a"')).toBe(200)
    const told = changes.map(
      (event) => event.type === 'override' && [event.change.kind, event.change.flow, event.change.by],
    )
    expect(told).toEqual([
      ['block', 'a', 'ann'],
      ['hold', 'a', 'ann'],
      ['boost', 'b', 'ann'],
      ['clear', 'a', 'ann'],
    ])
    for (const wrong of [
      'act=melt&flow="a"&forMs=5000',
      'act=block&flow=""&forMs=5000',
      'act=block&flow=a&forMs=5000',
      'act=block&flow=5&forMs=5000',
      'act=block&flow={}&forMs=5000',
      'act=hold&flow="a"&forMs=5000&costPerSecond=1e13',
      'act=hold&flow="a"&forMs=5000&costPerSecond=1e-10',
      'act=block&forMs=5000',
      'act=block&flow="a"',
      'act=block&flow="a"&forMs=1e12',
      'act=boost&flow="a"&forMs=5000&factor=0',
      'act=hold&flow="a"&forMs=5000',
    ])
      expect([wrong, await act(wrong)]).toEqual([wrong, 400])
    expect(changes).toHaveLength(4)
  })

  it('acts on the shown flow and on no other, for any name, and explains it', async () => {
    const long = 'k'.repeat(300)
    const names = [
      't\ud800',
      '\udc00t',
      '\ud800'.repeat(256),
      long,
      `${'k'.repeat(238)}${'😀'.repeat(20)}`,
      '__proto__',
      '"a"',
    ]
    const innocents = ['t\ufffd', '\ufffdt', '\ufffd'.repeat(256), 'k'.repeat(239), 'a', 'constructor']
    for (const name of names) {
      const rig = new Rig({ quota: {} }, { auth: false, control: true })
      const token = await tokenOf(rig)
      const events = await watch(rig)
      await rig.second({ [name]: 2 })
      const message = (await events.next())!
      const label: string = JSON.parse(message.data).flows[0].flow
      const ask = (query: Record<string, string>, method = 'GET'): Promise<Response> =>
        get(rig, `?${new URLSearchParams(query)}`, { method, headers: { 'x-fairlead-token': token } })
      const flow = JSON.stringify(label)
      const blocked = await ask({ act: 'block', flow, forMs: '60000' }, 'POST')
      expect([blocked.status, await blocked.text()]).toEqual([200, 'Done.'])
      expect(await rig.gate.admit({ flow: name })).toMatchObject({ admitted: false, reason: 'blocked' })
      for (const innocent of innocents) (await rig.run(innocent)).finish('success')
      expect(await (await ask({ why: flow })).json()).toMatchObject({ overrides: { kind: 'block' } })
      expect((await ask({ act: 'clear', flow }, 'POST')).status).toBe(200)
      ;(await rig.run(name)).finish('success')
      await events.leave()
    }
  })

  it('does not say that it is done where nothing holds', async () => {
    const sayOf = async (gate: Gate, query: string): Promise<[number, string]> => {
      const page = fairConsole(gate, { auth: false, control: true })
      const html = await (await page(new Request(URL_OF))).text()
      const headers = { 'x-fairlead-token': /content="([0-9a-f]{32})"/.exec(html)![1]! }
      const answer = await page(new Request(`${URL_OF}?${query}`, { method: 'POST', headers }))
      return [answer.status, await answer.text()]
    }
    const gateWith = (options: GateOptions): Gate => createGate({ overrides: new Overrides(), ...options })
    const boost = 'act=boost&flow="a"&forMs=5000&factor=2'
    expect(await sayOf(gateWith({}), 'act=clear&flow="a"')).toEqual([409, 'There is nothing to undo any more.'])
    expect(await sayOf(gateWith({}), boost)).toEqual([200, 'Done.'])
    const own = { weightOf: () => 1 }
    for (const fair of [false, own] as const)
      expect(await sayOf(gateWith({ fair }), boost)).toEqual([
        200,
        'Set, but no stage of this gate has asked for a weight so far: until one does, nothing changes.',
      ])
    const deaf = gateWith({})
    deaf.explain = () => ({})
    expect(await sayOf(deaf, 'act=block&flow="a"&forMs=5000')).toEqual([409, 'It was set, and does not hold.'])
  })

  it('obeys its own page only', async () => {
    const rig = new Rig({ quota: {} }, { auth: false, control: true })
    const token = await tokenOf(rig)
    const other = await tokenOf(new Rig({ quota: {} }, { auth: false, control: true }))
    expect(other).not.toBe(token)
    const ask = async (init: RequestInit): Promise<number> =>
      (await get(rig, '?act=block&flow="a"&forMs=5000', init)).status
    expect(await ask({ method: 'POST' })).toBe(403)
    expect(await ask({ method: 'POST', headers: { 'x-fairlead-token': other } })).toBe(403)
    expect(await ask({ method: 'POST', headers: { 'x-fairlead-token': token, 'sec-fetch-site': 'cross-site' } })).toBe(
      403,
    )
    expect(await ask({ headers: { 'x-fairlead-token': token } })).toBe(405)
    expect(await rig.gate.admit({ flow: 'a' })).toMatchObject({ admitted: true })
    expect(new Overrides().snapshot()).toEqual({})
  })
})

describe('a recording', () => {
  it('is made on request, and contains each request once', async () => {
    const rig = new Rig({ quota: { a: 2 } })
    const [plain, recorder] = [await watch(rig), await watch(rig, '?events&record')]
    const startMs = rig.world.clock()
    await rig.second({ a: 3 }, { a: 1 })
    const { names, weights, rows, dropped } = await recorder.record()
    expect({ names, weights, dropped }).toEqual({ names: ['a'], weights: [1], dropped: 0 })
    expect(rows).toEqual([0, startMs, 1, 1, 0, 0, startMs, 1, 0, 0, 0, startMs, 1, 3, 0])
    await plain.frame()
    await recorder.leave()
    await rig.second({ a: 1 })
    expect((await plain.next())?.event).toBe('message')
    await plain.leave()
  })
})
