import { type LeaseCall, poolTerms } from '@fairlead/core/escrow'
import { poolStoreContract } from '@fairlead/testing'
import { type RedisServer, withRedisUrl } from '@fairlead-testing/servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ioRedis, type TestClient } from './fixtures/clients.js'
import { type UpstashServer, upstash, upstashServer } from './fixtures/upstash.js'
import { RedisPoolStore } from './index.js'

const PREFIX = `upstash-test-${Math.random()}`

let redis: Pick<RedisServer, 'url' | 'stop'>
let direct: TestClient
let server: UpstashServer
beforeAll(async () => {
  redis = await withRedisUrl()
  direct = await ioRedis(redis.url)
  server = await upstashServer(direct)
})
afterAll(async () => {
  await server.stop()
  await direct.close()
  await redis.stop()
})

function storeOf(client = upstash(server.url)): RedisPoolStore {
  return new RedisPoolStore({ client, prefix: PREFIX })
}

function call(name: string, member = 'm'): LeaseCall {
  const none = { weight: 0, used: 0 }
  const mark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }
  return {
    ...{ pool: poolTerms({ name, limit: 1_000, windowMs: 60_000 }), member, seq: 1, win: -1, holds: 0, spent: 0, mark },
    ...{ quiet: none, tenants: [{ tenant: 'a', weight: 1, used: 0, rate: 1, ask: 0 }], need: 1 },
  }
}

describe('contract of stores, over HTTP with the client of Upstash', () => {
  const cases = poolStoreContract({
    stores: [{ lease: (one) => storeOf().lease(one) }, { lease: (one) => storeOf().lease(one) }],
    forget: async () => {
      const keys = await direct.command('KEYS', `${PREFIX}:*`)
      if (Array.isArray(keys)) await direct.command('DEL', ...keys.map(String))
    },
    // The script is that of other clients: `pnpm test` compares its answers with the pool's over TCP.
    plays: process.env['FAIRLEAD_WIDE'] === undefined ? 0 : 2,
  })
  for (const { name, run } of cases) it(name, run)
})

describe('the store over HTTP', () => {
  it('sends the script whole only to a Redis that does not have it', async () => {
    await direct.command('SCRIPT', 'FLUSH')
    const before = server.requests()
    for (let at = 0; at < 3; at++) await storeOf().lease(call('flushed', `m${at}`))
    expect(server.requests()).toBe(before + 4)
  })

  it('says why there was no answer, for any names of tenants', async () => {
    await direct.command('SET', `${PREFIX}:{pool2:typed}:60000`, 'not a pool')
    await expect(storeOf().lease(call('typed'))).rejects.toMatchObject({ kind: 'wrong-type' })
    const wrong = storeOf(upstash(server.url, 'another'))
    await expect(wrong.lease(call('OOM', 'connect'))).rejects.toMatchObject({ kind: 'no-permission' })
    const gone = storeOf(upstash('http://127.0.0.1:1'))
    await expect(gone.lease(call('gone'))).rejects.toMatchObject({ kind: 'network', cause: expect.any(Error) })
  })
})
