import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Program } from '@fairlead-testing/examples'
import { startRedis } from '@fairlead-testing/servers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EngineState } from './engine.js'
import { eventsOf } from './openai.js'

const PATIENCE = { timeout: 20_000 }
const LIMIT = 10_000
/** A window so long that none ends during the test, and that has only just begun, so that guarantees are whole. */
const WINDOW_SECONDS = Math.floor((Date.now() / 1_000 - 1) / 200)

/** The gateway's state. */
interface Shown {
  readonly inFlight: number
  readonly waiting: number
  readonly queue: { readonly pool: { readonly inFlight: number } }
  readonly budget: { readonly used: number }
  readonly engine: EngineState
}

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function gatewayWith(settings: Readonly<Record<string, string>> = {}): Promise<Program> {
  return Program.start(new URL('../dist/gateway.js', import.meta.url), {
    TOKENS: `${LIMIT}`,
    WINDOW_SECONDS: `${WINDOW_SECONDS}`,
    STEP_MS: '1',
    REDIS_URL: '',
    UPSTREAM_URL: '',
    ...settings,
  })
}

/** A gateway of one test. */
async function start(settings?: Readonly<Record<string, string>>): Promise<Program> {
  const program = await gatewayWith(settings)
  cleanups.push(() => program.stop())
  return program
}

/** A question of a number of words, which the engine answers with the same words. */
function question(words: number, more: object = {}): object {
  const content = Array.from({ length: words }, (_, i) => `w${i}`).join(' ')
  return { model: 'echo', messages: [{ role: 'user', content }], max_tokens: words, ...more }
}

function ask(program: Program, key: string, body: object, signal: AbortSignal | null = null): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return fetch(`${program.url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body), signal })
}

async function shown(program: Program): Promise<Shown> {
  return (await program.json('/admission')) as Shown
}

/** Waits until nothing is in flight, and returns the use. */
async function usedAtRest(program: Program): Promise<number> {
  await vi.waitFor(async () => expect(await shown(program)).toMatchObject({ inFlight: 0, waiting: 0 }), PATIENCE)
  return (await shown(program)).budget.used
}

async function dataOf(reply: Response): Promise<string[]> {
  const data: string[] = []
  for await (const each of eventsOf(reply.body!)) data.push(each)
  return data
}

/**
 * Asks the same of each program in turn, until each has refused three times in a row by its budget. Returns the sum of
 * what it got. A Redis that answers late on a busy machine refuses nothing permanently.
 */
async function askUntilRefused(programs: readonly Program[], key: string, words: number): Promise<number> {
  let got = 0
  let refused = 0
  for (let turn = 0; refused < 3 * programs.length; turn++) {
    const reply = await ask(programs[turn % programs.length]!, key, question(words))
    await reply.text()
    if (reply.status === 200) got += 2 * words
    if (reply.status !== 503) refused = reply.status === 200 ? 0 : refused + 1
  }
  return got
}

describe('the gateway, to one client', () => {
  let gateway: Program
  let before: number
  beforeAll(async () => {
    gateway = await gatewayWith()
  })
  beforeEach(async () => {
    before = await usedAtRest(gateway)
  })
  afterAll(() => gateway.stop())

  it('streams as OpenAI does, tells the budget before, and settles what it came to', async () => {
    const reply = await ask(gateway, 'team', question(20, { stream: true, max_tokens: 980 }))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(reply.headers.get('ratelimit-policy')).toBe(`"budget";q=${LIMIT};w=${WINDOW_SECONDS}`)
    expect(reply.headers.get('ratelimit')).toMatch(/^"budget";r=(8\d{3}|9000);t=\d+$/)
    const data = await dataOf(reply)
    expect(data.at(-1)).toBe('[DONE]')
    const chunks = data.slice(0, -1).map((each) => JSON.parse(each))
    const text = chunks.map(({ choices }) => choices[0].delta.content ?? '').join('')
    expect(text.split(' ')).toHaveLength(20)
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop')
    expect(chunks.every(({ usage }) => usage === undefined)).toBe(true)
    expect((await usedAtRest(gateway)) - before).toBe(40)
    await vi.waitFor(() => expect(gateway.lines).toContain('team spent 40'), PATIENCE)
  })

  it('tells the usage to a client that asks for it, and cuts off at max_tokens', async () => {
    const more = { stream: true, stream_options: { include_usage: true }, max_tokens: 5 }
    const data = await dataOf(await ask(gateway, 'team', question(20, more)))
    const last = JSON.parse(data.at(-2)!)
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 } })
    expect(JSON.parse(data.at(-3)!).choices[0].finish_reason).toBe('length')
    expect((await usedAtRest(gateway)) - before).toBe(25)
  })

  it('answers without a stream, too, and lists models', async () => {
    const reply = await ask(gateway, 'free', question(3))
    expect(await reply.json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: 'w0 w1 w2' }, finish_reason: 'stop' }],
      usage: { total_tokens: 6 },
    })
    expect(await gateway.json('/v1/models')).toMatchObject({ data: [{ id: 'echo' }] })
    expect((await usedAtRest(gateway)) - before).toBe(6)
  })

  it('charges a client that leaves for what was written until then', async () => {
    const gateway = await start({ TOKENS: '100000', POOL_TOKENS: '100000' })
    const leaving = new AbortController()
    const reply = await ask(gateway, 'team', question(20_000, { stream: true }), leaving.signal)
    await reply.body?.getReader().read()
    leaving.abort()
    const used = await usedAtRest(gateway)
    expect(used).toBeGreaterThan(20_000)
    expect(used).toBeLessThan(40_000)
    await vi.waitFor(
      async () => expect((await shown(gateway)).engine).toMatchObject({ running: 0, waiting: 0 }),
      PATIENCE,
    )
  })

  it('refuses whom it does not know, and what it cannot read, at no cost, in OpenAI’s words', async () => {
    const replies = [
      await ask(gateway, 'stranger', question(1)),
      await ask(gateway, 'toString', question(1)),
      await ask(gateway, 'team', { model: 'echo', messages: [] }),
      await ask(gateway, 'team', question(1, { max_tokens: 0 })),
      await ask(gateway, 'team', question(1, { user: '' })),
      await ask(gateway, 'team', question(LIMIT)),
    ]
    expect(replies.map(({ status }) => status)).toEqual([401, 401, 400, 400, 400, 400])
    expect(await replies[2]!.json()).toEqual({
      error: {
        message: 'messages must be a non-empty array',
        type: 'invalid_request_error',
        code: 'bad_request',
        param: null,
      },
    })
    const headers = { authorization: 'Bearer team', 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: '{"model":' }
    const noJson = await fetch(`${gateway.url}/v1/chat/completions`, init)
    expect([noJson.status, await noJson.json()]).toMatchObject([400, { error: { code: 'bad_request' } }])
    expect((await shown(gateway)).budget.used).toBe(before)
  })

  it('says so when the engine cannot be reached, at no cost', async () => {
    const gateway = await start({ UPSTREAM_URL: 'http://127.0.0.1:1' })
    const reply = await ask(gateway, 'team', question(5))
    expect([reply.status, await reply.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }])
    expect(await usedAtRest(gateway)).toBe(0)
  })
})

describe('the gateway, in front of an engine that answers otherwise', () => {
  let gateway: Program
  let before: number
  /** The engine's answer to every request. */
  let answer: (res: ServerResponse) => void
  const engine = createServer((req, res) => {
    req.resume()
    answer(res)
  })
  beforeAll(async () => {
    engine.listen(0, '127.0.0.1')
    await once(engine, 'listening')
    gateway = await gatewayWith({ UPSTREAM_URL: `http://127.0.0.1:${(engine.address() as AddressInfo).port}` })
  })
  beforeEach(async () => {
    before = await usedAtRest(gateway)
  })
  afterAll(async () => {
    await gateway.stop()
    engine.close()
  })

  it('passes on that it is short, and when to come back, at no cost', async () => {
    answer = (res) => res.writeHead(503, { 'retry-after': '7' }).end('{"error":{}}')
    const reply = await ask(gateway, 'team', question(5, { stream: true }))
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '7'])
    expect(await usedAtRest(gateway)).toBe(before)
  })

  it('charges what it has seen of a stream that tells no usage', async () => {
    const event = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
    answer = (res) => res.end(`${event('a').repeat(30)}data: [DONE]\n\n`)
    expect(await dataOf(await ask(gateway, 'team', question(5, { stream: true })))).toHaveLength(31)
    expect((await usedAtRest(gateway)) - before).toBe(35)
  })

  it('passes an error in a stream on as it comes, and charges what was written before', async () => {
    const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'a' } }] })}\n\n`
    let error = ''
    answer = (res) => res.end(`${event}data: ${error}\n\n`)
    let used = before
    for (error of ['{"error":{"code":500,"message":"out of memory"}}', 'out of memory']) {
      const reply = await ask(gateway, 'team', question(5, { stream: true }))
      expect([reply.status, (await dataOf(reply))[1]]).toEqual([200, error])
      used += 6
      expect(await usedAtRest(gateway)).toBe(used)
    }
  })

  it('charges and learns nothing by a usage that is no counts', async () => {
    let usage: unknown
    answer = (res) => res.end(JSON.stringify({ choices: [], usage }))
    let used = before
    for (usage of [{ total_tokens: 9 }, { prompt_tokens: 5, completion_tokens: -2, total_tokens: 3 }, 'many', null])
      for (let i = 1; i <= 2; i++) {
        expect((await ask(gateway, 'team', question(5))).status).toBe(200)
        used += 5
        expect(await usedAtRest(gateway)).toBe(used)
      }
  })
})

describe('the gateway, to many', () => {
  it('splits tokens per minute by weight between those who want all of them, and says when to come back', async () => {
    const gateway = await start()
    const [enterprise, free] = await Promise.all([
      askUntilRefused([gateway], 'enterprise', 50),
      askUntilRefused([gateway], 'free', 50),
    ])
    expect(enterprise + free).toBeLessThanOrEqual(LIMIT)
    expect(enterprise + free).toBeGreaterThan(LIMIT - 200)
    expect(Math.abs(enterprise / 4 - free)).toBeLessThanOrEqual(200)
    const refused = await ask(gateway, 'free', question(200))
    expect(refused.status).toBe(429)
    const [, seconds] = /^"budget";r=\d+;t=(\d+)$/.exec(refused.headers.get('ratelimit') ?? '') ?? []
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(Number(seconds))
    expect(await refused.json()).toMatchObject({ error: { type: 'tokens', code: 'rate_limit_exceeded' } })
  })

  it('gives tenants turns, and the users of a tenant turns in those, and lets the engine keep no line', async () => {
    const gateway = await start({ TOKENS: '1000000', SLOTS: '4', STEP_MS: '2' })
    const order: string[] = []
    const answers: Promise<unknown>[] = []
    const put = (key: string, user: string, count: number): void => {
      for (let i = 0; i < count; i++)
        answers.push(
          ask(gateway, key, question(20, { user }))
            .then((reply) => reply.json())
            .then(() => order.push(`${key}/${user}`)),
        )
    }
    put('free', 'batch', 40)
    await vi.waitFor(async () => expect((await shown(gateway)).waiting).toBeGreaterThan(30), PATIENCE)
    put('free', 'person', 2)
    put('team', 'person', 2)
    await Promise.all(answers)
    const at = (name: string): number => order.lastIndexOf(name)
    // Four already run when these arrive, and a few more get their turns alongside; behind the whole batch they would
    // come last.
    expect(at('team/person')).toBeLessThan(24)
    expect(at('free/person')).toBeLessThan(24)
    const { engine, queue } = await shown(gateway)
    expect(engine.mostRunning).toBe(4)
    expect(queue.pool.inFlight).toBe(0)
  })

  it('learns how long answers are, and lets in as many as the cache has room for', async () => {
    const gateway = await start({ TOKENS: '10000000', SLOTS: '64', POOL_TOKENS: '2000' })
    // Each may have 900 tokens and gets 40: before lengths are learned, two would fit.
    const one = () => ask(gateway, 'team', question(40, { max_tokens: 900 }))
    expect((await one()).status).toBe(200)
    for (const reply of await Promise.all(Array.from({ length: 45 }, one))) expect(reply.status).toBe(200)
    const { engine } = await shown(gateway)
    expect(engine.mostRunning).toBeGreaterThanOrEqual(10)
    expect(engine.mostTokens).toBeLessThanOrEqual(2_000)
    expect(engine.preempted).toBe(0)
  })

  it.runIf(process.env['FAIRLEAD_WIDE'] !== undefined)(
    'splits one budget between two processes on one Redis by weight',
    async () => {
      const redis = await startRedis()
      cleanups.push(() => redis.stop())
      const fleet = [await start({ REDIS_URL: redis.url }), await start({ REDIS_URL: redis.url })]
      const [enterprise, free] = await Promise.all([
        askUntilRefused(fleet, 'enterprise', 50),
        askUntilRefused(fleet, 'free', 50),
      ])
      const shares = await Promise.all(fleet.map(shown))
      expect(shares.map(({ budget }) => budget.used).reduce((a, b) => a + b)).toBe(enterprise + free)
      expect(enterprise + free).toBeLessThanOrEqual(LIMIT)
      expect(enterprise + free).toBeGreaterThan(LIMIT - 1_000)
      expect(Math.abs(enterprise / 4 - free)).toBeLessThanOrEqual(400)
    },
  )
})
