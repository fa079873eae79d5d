import { createGate } from '@fairlead/core'
import { quota } from '@fairlead/core/quota'
import { type RedisServer, withRedisUrl } from '@fairlead-testing/servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ioRedis, nodeRedis, type TestClient } from './fixtures/clients.js'
import { type UpstashServer, upstash, upstashServer } from './fixtures/upstash.js'
import { RedisQuotaStore } from './index.js'

/** A window so long that nothing is earned back during the tests. */
const LONG_MS = 1_000_000_000

let server: Pick<RedisServer, 'url' | 'stop'>
let http: UpstashServer
const clients = new Map<string, TestClient>()
beforeAll(async () => {
  server = await withRedisUrl()
  const direct = await ioRedis(server.url)
  http = await upstashServer(direct)
  clients.set('ioredis', direct)
  clients.set('redis', await nodeRedis(server.url))
  clients.set('@upstash/redis', { ...direct, client: upstash(http.url) })
})
afterAll(async () => {
  await http.stop()
  await clients.get('redis')?.close()
  await clients.get('ioredis')?.close()
  await server.stop()
})

function storeOf(client: string, prefix: string): RedisQuotaStore {
  return new RedisQuotaStore({ client: clients.get(client)!.client, prefix })
}

describe.each(['redis', 'ioredis', '@upstash/redis'])('quotas in Redis, by %s', (client) => {
  const prefix = `fairlead-test-${Math.random()}`

  it('are taken up to the most, given back, and forgotten', async () => {
    const store = storeOf(client, prefix)
    const [part, whole] = [LONG_MS / 2, LONG_MS]
    const first = await store.take('acme', part, whole)
    expect(first).toEqual({ taken: true, debtMs: part })
    expect((await store.take('acme', part, whole)).taken).toBe(true)
    const full = await store.take('acme', part, whole)
    expect(full.taken).toBe(false)
    expect(full.debtMs).toBeGreaterThan(0.9 * whole)
    expect((await store.take('globex', part, whole)).taken).toBe(true)

    await store.take('acme', -part, Number.POSITIVE_INFINITY)
    expect((await store.take('acme', part, whole)).taken).toBe(true)
    await store.forget('acme')
    expect(await store.take('acme', part, whole)).toEqual({ taken: true, debtMs: part })
    expect(await store.take('acme', -whole, Number.POSITIVE_INFINITY)).toEqual({ taken: true, debtMs: 0 })
  })

  it('expire when they are whole again', async () => {
    await storeOf(client, prefix).take('expiring', LONG_MS, LONG_MS)
    const left = await clients.get('ioredis')!.command('PTTL', `${prefix}:quota:expiring`)
    expect(Number(left)).toBeGreaterThan(0.9 * LONG_MS)
    expect(Number(left)).toBeLessThanOrEqual(LONG_MS)
  })
})

it('earns a quota back from then on where the clock of Redis went back', async () => {
  const prefix = `fairlead-test-${Math.random()}`
  const store = storeOf('ioredis', prefix)
  const key = `${prefix}:quota:acme`
  const { command } = clients.get('ioredis')!
  // As stored an hour later.
  await command('SET', key, `${(await redisUs()) + 3_600_000_000} ${LONG_MS * 1_000}`)
  const first = await store.take('acme', LONG_MS, LONG_MS)
  expect(first).toEqual({ taken: false, debtMs: LONG_MS })
  await redisUs()
  const second = await store.take('acme', LONG_MS, LONG_MS)
  expect(second.taken).toBe(false)
  expect(second.debtMs).toBeLessThan(LONG_MS)
  expect(Number(await command('PTTL', key))).toBeGreaterThan(0.9 * LONG_MS)
})

/** Microseconds of Redis's clock. */
async function redisUs(): Promise<number> {
  const [seconds, us] = (await clients.get('ioredis')!.command('TIME')) as [string, string]
  return Number(seconds) * 1_000_000 + Number(us)
}

// Microseconds in which a unit of cost is earned: 800 and 667 units per millisecond, and far more.
it.each([1_000 / 34, 1_000 / 300, 1.25, 1_000 / 667, 0.5, 0.001])(
  'counts units of %f µs as what they are',
  async (unitUs) => {
    const store = storeOf('ioredis', `fairlead-test-${Math.random()}`)
    const count = 2_000
    const unitMs = unitUs / 1_000
    // More than is earned back during the test.
    await store.take('acme', 1_000_000, 1_000_000)
    await redisUs()
    // On one connection these run in order: the amount earned between the first and the last call lies in between.
    const [a, first, b, , c, last, d] = await Promise.all([
      redisUs(),
      store.take('acme', unitMs, Number.POSITIVE_INFINITY),
      redisUs(),
      Promise.all(Array.from({ length: count }, () => store.take('acme', unitMs, Number.POSITIVE_INFINITY))),
      redisUs(),
      store.take('acme', unitMs, Number.POSITIVE_INFINITY),
      redisUs(),
    ])
    const addedUs = (last.debtMs - first.debtMs) * 1_000
    expect(addedUs + (d - a)).toBeGreaterThanOrEqual((count + 1) * unitUs * 0.999)
    expect(addedUs + (c - b)).toBeLessThanOrEqual((count + 1) * unitUs * 1.001)
  },
)

describe('a limit that depends on the request, in Redis', () => {
  it('changes the time of a debt, not its units, also through a refusal; a correction changes no rate', async () => {
    const store = storeOf('ioredis', `fairlead-test-${Math.random()}`)
    const [slow, fast] = [LONG_MS, LONG_MS / 100]
    const take = (units: number, unitMs: number) => store.take('acme', units * unitMs, 20 * unitMs, 0, unitMs)
    for (let i = 0; i < 20; i++) expect((await take(1, fast)).taken).toBe(true)
    const refused = await take(1, slow)
    expect(refused.taken).toBe(false)
    expect(refused.debtMs / slow).toBeCloseTo(20, 2)
    // Five units of the other plan are given back.
    const corrected = await store.take('acme', -5 * fast, Number.POSITIVE_INFINITY, 0, fast)
    expect(corrected.debtMs / fast).toBeCloseTo(15, 2)
    expect((await store.take('acme', 0, Number.POSITIVE_INFINITY)).debtMs / slow).toBeCloseTo(15, 2)
    expect((await take(5, slow)).taken).toBe(true)
    expect((await take(1, fast)).taken).toBe(false)
  })

  it('goes on from what an earlier version wrote', async () => {
    const prefix = `fairlead-test-${Math.random()}`
    const { command } = clients.get('ioredis')!
    await command('SET', `${prefix}:quota:acme`, `${await redisUs()} ${LONG_MS * 1_000}`)
    const level = await storeOf('ioredis', prefix).take('acme', LONG_MS, LONG_MS, 0, 1)
    expect(level.taken).toBe(false)
    expect(level.debtMs).toBeGreaterThan(0.9 * LONG_MS)
  })

  it.each([1e20, 1e200])('keeps debts that no expiry can hold: units of %d ms', async (unitMs) => {
    const store = storeOf('ioredis', `fairlead-test-${Math.random()}`)
    expect((await store.take('acme', unitMs, unitMs, 0, unitMs)).taken).toBe(true)
    const level = await store.take('acme', unitMs, unitMs, 0, unitMs)
    expect(level.taken).toBe(false)
    expect(level.debtMs / unitMs).toBeCloseTo(1)
    await store.take('settled', 1e300, Number.POSITIVE_INFINITY, 0, 1_000)
    expect((await store.take('settled', 1_000, 60_000, 0, 1_000)).taken).toBe(false)
  })
})

it('a fleet has one quota, for all clients of its processes, and never more', async () => {
  const prefix = `fairlead-test-${Math.random()}`
  const gates = [...clients.keys()].map((client) =>
    createGate({
      fair: false,
      quota: quota({ limit: 20, windowMs: LONG_MS, store: storeOf(client, prefix), deadlineMs: 60_000 }),
    }),
  )
  const asked = Array.from({ length: 60 }, (_, at) => gates[at % gates.length]!.admit({ flow: 'acme' }))
  const answers = await Promise.all(asked)
  expect(answers.filter(({ admitted }) => admitted).length).toBe(20)
  expect(answers.find(({ admitted }) => !admitted)).toMatchObject({ reason: 'over-quota', stage: 'quota' })
})

it('says what is wrong with its options', () => {
  expect(() => new RedisQuotaStore({ client: {} as never })).toThrow('client must be a client of the package redis')
  expect(() => new RedisQuotaStore({ client: {}, prefx: 'a' } as never)).toThrow(
    'RedisQuotaStore has no option "prefx"',
  )
})
