import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { Stage } from '@fairlead/core'
import { createGate } from '@fairlead/core'
import { budgetStage, WeightedFairEscrow } from '@fairlead/core/escrow'
import type { HttpOptions } from '@fairlead/core/http'
import { manualClock } from '@fairlead/core/testing'
import { Cases, type ContractCase } from './cases.js'
import type { RequestParts } from './client.js'
import type { AdapterHarness } from './harness.js'
import { Http2Client } from './http2-client.js'
import { OVER_SHARE, requireProblem } from './refusal-cases.js'
import type { RigOptions } from './rig.js'

/** Ways for a request to end with a response, and its status. */
const ENDINGS: readonly (readonly [name: string, path: string, status: number])[] = [
  ['a whole answer', '/send/200', 200],
  ['304 without a body', '/send/304', 304],
  ['a streamed body', '/stream', 200],
  ['a thrown error', '/throw', 500],
  ['a rejected promise', '/reject', 500],
  ['an error thrown late', '/late-throw/2', 500],
  ['a thrown ResourceExhaustedError', '/exhausted', 503],
  ["the framework's HTTP error 404", '/http-error/404', 404],
]

/** A budget of 100 per hour, of which 60 seconds have passed. */
function budgetOf(name: string, limit: number = 100, reserve: 'strict' | 'paced' = 'strict'): Stage {
  const escrow = new WeightedFairEscrow({ limit, windowMs: 3_600_000, reserve, clock: manualClock(60_000) })
  return budgetStage(escrow, { name })
}

/** The two fields of a reply. */
function told({ headers }: { readonly headers: IncomingHttpHeaders }): (string | string[] | undefined)[] {
  return [headers['ratelimit-policy'], headers['ratelimit']]
}

const NOTHING = [undefined, undefined]
/** The fields for a budget of 100 per hour, a little less than an hour before the window ends. */
const left = (remaining: number, name: string = 'tokens') => [
  `"${name}";q=100;w=3600`,
  `"${name}";r=${remaining};t=3540`,
]

/** The budgets that responses report, by `RateLimit-Policy` and `RateLimit`. */
export function rateLimitCases<Target extends readonly unknown[]>(harness: AdapterHarness<Target>): ContractCase[] {
  const cases = new Cases(harness)
  const cost = (...target: Target): number => Number(harness.header(target, 'x-cost') ?? 1)
  const of = (units: string): RequestParts => ({ headers: { 'x-cost': units } })
  type Tells = Omit<HttpOptions<Target>, 'gate'>['rateLimit']
  const clock = manualClock()
  const budget = (rateLimit?: Tells): RigOptions<Target> => ({
    stages: [budgetOf('tokens')],
    gate: { clock },
    options: { cost, ...(rateLimit && { rateLimit }) },
  })

  for (const [what, status, stages] of [
    ['a response', 200, []],
    ['a refusal', 429, [OVER_SHARE]],
  ] as const)
    cases.add(
      `without a budget ${what} tells nothing, though it is wanted always`,
      () => ({ stages, options: { rateLimit: 'always' } }),
      async (rig) => {
        const reply = await rig.exchange('/send/200')
        assert.deepEqual([reply.status, ...told(reply)], [status, ...NOTHING])
      },
    )

  cases.add(
    'a budget is told near its exhaustion, and not before; a redirect never',
    () => budget(),
    async (rig) => {
      assert.deepEqual(told(await rig.exchange('/send/200', of('90'))), NOTHING)
      assert.deepEqual(told(await rig.exchange('/send/302', of('1'))), NOTHING)
      assert.deepEqual(told(await rig.exchange('/send/200', of('4'))), left(5))
      assert.deepEqual(told(await rig.exchange('/throw', of('5'))), left(0))
    },
  )

  for (const [name, path, status] of ENDINGS)
    for (const wrapped of [false, true])
      cases.add(
        `${name} tells a budget${wrapped ? ', handler wrapped' : ''}`,
        () => ({ ...budget('always'), wrapped }),
        async (rig) => {
          const reply = await rig.exchange(path, of('7'))
          assert.deepEqual([reply.status, ...told(reply)], [status, ...left(93)])
        },
      )

  for (const [limit, reserve] of [
    [2, 'paced'],
    [10, 'paced'],
    [10, 'strict'],
  ] as const)
    cases.add(
      `a tenant that is alone has all of a ${reserve} budget of ${limit} that it is told of, and no more`,
      () => ({ stages: [budgetOf('tokens', limit, reserve)], gate: { clock }, options: { rateLimit: 'always' } }),
      async (rig) => {
        for (let left = limit - 1; left >= 0; left--) {
          const reply = await rig.exchange('/send/200')
          assert.deepEqual([reply.status, told(reply)[1]], [200, `"tokens";r=${left};t=3540`])
        }
        assert.equal((await rig.exchange('/send/200')).status, 429)
      },
    )

  cases.add(
    'HEAD tells a budget, and a redirect where that is wanted always',
    () => budget('always'),
    async (rig) => {
      assert.deepEqual(told(await rig.exchange('/send/200', { method: 'HEAD', ...of('7') })), left(93))
      assert.deepEqual(told(await rig.exchange('/send/302', of('3'))), left(90))
    },
  )

  cases.add(
    'a stream tells a budget before its end',
    () => budget('always'),
    async (rig) => {
      const client = await rig.connect()
      client.write('GET /open-stream HTTP/1.1\r\nHost: localhost\r\nx-cost: 60\r\n\r\n')
      assert.match(await client.received('one,'), /\r\nratelimit: "tokens";r=40;t=3540\r\n/i)
      rig.scenes.raiseCurtain()
      await client.received('two')
      await client.leave()
    },
  )

  cases.add(
    'what is told is true when it is told: the window goes on while a handler works',
    () => budget('always'),
    async (rig) => {
      const client = await rig.connect()
      client.write('GET /wait HTTP/1.1\r\nHost: localhost\r\nx-cost: 60\r\n\r\n')
      await rig.begun('/wait')
      clock.advance(40_000)
      rig.scenes.raiseCurtain()
      assert.match(await client.received('done'), /\r\nratelimit: "tokens";r=40;t=3500\r\n/i)
      await client.leave()
    },
  )

  cases.add(
    "with 'never' nothing is told, not even by a refusal",
    () => budget('never'),
    async (rig) => {
      assert.deepEqual(told(await rig.exchange('/send/200', of('100'))), NOTHING)
      const refused = await rig.exchange('/send/200')
      requireProblem(refused, 429, 'quota-exceeded', 'tokens', 3_540)
      assert.deepEqual(told(refused), NOTHING)
    },
  )

  cases.add(
    'a refusal by a budget tells it, names it as violated, and no earlier Retry-After',
    () => budget(),
    async (rig) => {
      await rig.exchange('/send/200', of('100'))
      const refused = await rig.exchange('/send/200')
      requireProblem(refused, 429, 'quota-exceeded', 'tokens', 3_540)
      assert.deepEqual(told(refused), left(0))
    },
  )

  cases.add(
    'two budgets: both are listed, near exhaustion the one; the one that refuses is named, the other refunded',
    () => {
      const inner = createGate({ fair: false, stages: [budgetOf('team', 200), budgetOf('key')], clock })
      const whole = { gate: inner, cost, rateLimit: 'always' } as const
      return { options: { skip: () => true }, inner: [whole] }
    },
    async (rig) => {
      const both = await rig.exchange('/throw', of('95'))
      const policies = '"team";q=200;w=3600, "key";q=100;w=3600'
      assert.deepEqual(told(both), [policies, '"team";r=105;t=3540, "key";r=5;t=3540'])
      const refused = await rig.exchange('/send/200', of('6'))
      assert.deepEqual(JSON.parse(refused.body)['violated-policies'], ['key'])
      assert.match(`${refused.headers['ratelimit']}`, /^"key";r=5;t=\d+$/)
      const after = await rig.exchange('/send/200', of('5'))
      assert.deepEqual(told(after), [policies, '"team";r=100;t=3540, "key";r=0;t=3540'])
    },
  )

  cases.add(
    'two gates: each tells its own',
    () => {
      const inner = createGate({ fair: false, stages: [budgetOf('inner')], clock })
      return {
        stages: [budgetOf('outer')],
        gate: { clock },
        options: { cost, rateLimit: 'always' },
        inner: [{ gate: inner, cost, rateLimit: 'always' }],
      }
    },
    async (rig) => {
      for (const [path, remaining] of [
        ['/send/200', 93],
        ['/throw', 86],
      ] as const) {
        const names = (await rig.exchange(path, of('7'))).headers['ratelimit']
        const expected = ['inner', 'outer'].map((name) => left(remaining, name)[1])
        assert.deepEqual(`${names}`.split(', ').toSorted(), expected)
      }
    },
  )

  const start = harness.startHttp2?.bind(harness)
  if (start === undefined) return cases.all
  const overHttp2 = new Cases({ ...harness, start })
  for (const [name, path, status] of ENDINGS)
    overHttp2.add(
      `HTTP/2: ${name} tells a budget`,
      () => budget('always'),
      async (rig) => {
        const client = await Http2Client.connect(rig.port)
        const reply = await client.ask(path, of('7')).reply
        assert.deepEqual([reply.status, ...told(reply)], [status, ...left(93)])
        await client.leave()
      },
    )
  return [...cases.all, ...overHttp2.all]
}
