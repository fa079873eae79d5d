import { Program } from '@fairlead-testing/examples'
import { startRedis } from '@fairlead-testing/servers'
import { afterEach, describe, expect, it, vi } from 'vitest'

const PATIENCE = { timeout: 20_000 }
const LIMIT = 10_000
/** Long enough that no window ends while the test runs, and one that has only just begun: then guarantees are whole. */
const WINDOW_SECONDS = Math.floor((Date.now() / 1_000 - 1) / 200)

/** What the gateway shows of its budget. */
interface Shown {
  readonly inFlight: number
  readonly budget: { readonly used: number }
}

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(settings: Readonly<Record<string, string>> = {}): Promise<Program> {
  const program = await Program.start(new URL('../dist/gateway.js', import.meta.url), {
    TOKENS: `${LIMIT}`,
    WINDOW_SECONDS: `${WINDOW_SECONDS}`,
    REDIS_URL: '',
    ...settings,
  })
  cleanups.push(() => program.stop())
  return program
}

/** A question of a number of words, which the model will answer with as many. */
function chat(words: number, maxTokens: number = words): { prompt: string; maxTokens: number } {
  return { prompt: 'word '.repeat(words), maxTokens }
}

async function shown(program: Program): Promise<Shown> {
  return (await program.json('/budget')) as Shown
}

/** Waits for what a program has printed, which comes by another way than its answers. */
function printed(holds: () => void): Promise<void> {
  return vi.waitFor(holds, PATIENCE)
}

/**
 * Asks the same of each program in turn, until the budget has refused three times in a row in each. Gives what it got.
 * A Redis that a busy machine keeps from answering in time refuses nothing for good.
 */
async function askUntilRefused(programs: readonly Program[], tenant: string, words: number): Promise<number> {
  let got = 0
  let refused = 0
  for (let turn = 0; refused < 3 * programs.length; turn++) {
    const reply = await programs[turn % programs.length]!.ask('/chat', tenant, chat(words))
    await reply.text()
    if (reply.status === 200) got += 2 * words
    if (reply.status !== 503) refused = reply.status === 200 ? 0 : refused + 1
  }
  return got
}

describe('the gateway, in one process', () => {
  it('streams an answer, tells the budget before it, and settles what it came to', async () => {
    const gateway = await start()
    const reply = await gateway.ask('/chat', 'team', chat(20, 980))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(reply.headers.get('ratelimit-policy')).toBe(`"budget";q=${LIMIT};w=${WINDOW_SECONDS}`)
    expect(reply.headers.get('ratelimit')).toMatch(/^"budget";r=(8\d{3}|9000);t=\d+$/)
    const pieces = (await reply.text()).trim().split('\n\n')
    expect(pieces.map((piece) => JSON.parse(piece.slice('data: '.length)))).toEqual([
      expect.stringMatching(/^(word ?){10}$/),
      expect.stringMatching(/^(word ?){10}$/),
      { usage: 40 },
    ])
    await vi.waitFor(
      async () => expect(await shown(gateway)).toMatchObject({ inFlight: 0, budget: { used: 40 } }),
      PATIENCE,
    )
    await printed(() => expect(gateway.lines).toContain('team spent 40'))
  })

  it('charges who leaves for what was written until then, once', async () => {
    // An answer that takes seconds, so that nobody leaves too late.
    const gateway = await start({ TOKENS: '100000' })
    const leaving = new AbortController()
    const reply = await gateway.ask('/chat', 'team', chat(45_000), leaving.signal)
    await reply.body?.getReader().read()
    leaving.abort()
    await vi.waitFor(async () => expect((await shown(gateway)).inFlight).toBe(0), PATIENCE)
    const { used } = (await shown(gateway)).budget
    expect(used).toBeGreaterThan(45_000)
    expect(used).toBeLessThan(90_000)
    const spent = () => gateway.lines.filter((line) => line.startsWith('team spent'))
    await printed(() => expect(spent()).toEqual([`team spent ${used}`]))
  })

  it('refuses whom it does not know, and what it cannot read, at no cost', async () => {
    const gateway = await start()
    const statuses = [
      await gateway.ask('/chat', 'stranger', chat(1)),
      await gateway.ask('/chat', 'toString', chat(1)),
      await gateway.ask('/chat', 'team', { prompt: ' ' }),
      await gateway.ask('/chat', 'team', { prompt: 'word', maxTokens: 0 }),
    ].map(({ status }) => status)
    expect(statuses).toEqual([401, 401, 400, 400])
    expect((await shown(gateway)).budget.used).toBe(0)
  })

  it('splits the budget by weight between those who want all of it, and says so to whom it refuses', async () => {
    const gateway = await start()
    const [enterprise, free] = await Promise.all([
      askUntilRefused([gateway], 'enterprise', 50),
      askUntilRefused([gateway], 'free', 50),
    ])
    expect(enterprise + free).toBeLessThanOrEqual(LIMIT)
    expect(enterprise + free).toBeGreaterThan(LIMIT - 200)
    expect(Math.abs(enterprise / 4 - free)).toBeLessThanOrEqual(200)
    const refused = await gateway.ask('/chat', 'free', chat(200))
    expect(refused.status).toBe(429)
    expect(refused.headers.get('ratelimit-policy')).toMatch(/^"budget";q=2\d{3};w=\d+$/)
    const [, remaining, seconds] = /^"budget";r=(\d+);t=(\d+)$/.exec(refused.headers.get('ratelimit') ?? '') ?? []
    expect(Number(remaining)).toBeLessThan(400)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(Number(seconds))
    expect(await refused.json()).toMatchObject({ status: 429, 'violated-policies': ['budget'] })
    await printed(() =>
      expect(gateway.lines).toContainEqual(expect.stringMatching(/^refused free: (over-share|exhausted)$/)),
    )
  })
})

describe('the gateway, in two processes on one Redis', () => {
  it('splits one budget between both by weight', async () => {
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
  })
})
