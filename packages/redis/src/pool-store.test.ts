import { FederatedFairEscrow, type LeaseAnswer, type LeaseCall, poolTerms, RegionFairPool } from '@fairlead/core/escrow'
import { poolStoreContract } from '@fairlead/testing'
import { type RedisServer, startRedis, withRedisUrl } from '@fairlead-testing/servers'
import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { RedisClient } from './client.js'
import { ioRedis, nodeRedis, type TestClient } from './fixtures/clients.js'
import { RedisPoolStore, type RedisPoolStoreOptions } from './index.js'

/** A window that began in 2023 and does not end during the tests; hardly any of it has passed. */
const LONG_MS = 1_700_000_000_000
const TERMS = poolTerms({ name: 'api', limit: 1_000, windowMs: 60_000 })

/** Longer than any wait of a working test, even on a busy machine. */
const WATCHDOG = { timeout: 60_000, interval: 10 }

/** `pnpm test` runs the contract once, with both clients in turn. */
const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

let calls = 0

/** The first call of a new member, for the whole limit. */
function firstCall(more: Partial<LeaseCall> = {}): LeaseCall {
  const member = `m${calls++}`
  const none = { weight: 0, used: 0 }
  return {
    ...{
      pool: TERMS,
      member,
      seq: 1,
      win: -1,
      holds: 0,
      spent: 0,
      mark: { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 },
    },
    ...{ quiet: none, tenants: [{ tenant: member, weight: 1, used: 0, rate: 1, ask: 0 }], need: 1_000, ...more },
  }
}

let server: Pick<RedisServer, 'url' | 'stop'>
let clients: TestClient[]
beforeAll(async () => {
  server = await withRedisUrl()
  clients = [await nodeRedis(server.url), await ioRedis(server.url)]
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await server.stop()
})

/** A separate prefix for each test, so that they can share a Redis. */
function prefix(): string {
  return `fairlead-test-${Math.random()}`
}

describe('contract of stores, in Redis', () => {
  const together = ['redis and ioredis together', 0, 1] as const
  const alone = [
    ['redis', 0, 0],
    ['ioredis', 1, 1],
  ] as const
  for (const [name, first, second] of IS_WIDE ? [together, ...alone] : [together]) {
    const own = prefix()
    const store = (index: number): RedisPoolStore => new RedisPoolStore({ client: clients[index]!.client, prefix: own })
    // The clients are made later than the cases, so the stores are, too.
    const cases = poolStoreContract({
      stores: [{ lease: (call) => store(first).lease(call) }, { lease: (call) => store(second).lease(call) }],
      forget: async () => {
        const keys = await clients[0]!.command('KEYS', `${own}:*`)
        if (Array.isArray(keys)) await clients[0]!.command('DEL', ...keys.map(String))
      },
      plays: IS_WIDE ? 2 : 1,
    })
    describe(name, () => {
      for (const { name, run } of cases) it(name, run)
    })
  }
})

describe.each([0, 1])('the store in Redis, client %d', (which) => {
  it('sends the script whole only to a Redis that does not have it', async () => {
    const { client, command } = clients[which]!
    const store = new RedisPoolStore({ client, prefix: prefix() })
    const counts = async (): Promise<(number | undefined)[]> => {
      const stats = String(await command('INFO', 'commandstats'))
      return ['eval', 'evalsha'].map((name) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0))
    }
    await command('SCRIPT', 'FLUSH')
    const [evals, hashes] = await counts()
    for (let call = 0; call < 5; call++) await store.lease(firstCall())
    expect(await counts()).toEqual([evals! + 1, hashes! + 5])
  })

  it('keeps a pool, and the tenants of two windows, until a window later than their own', async () => {
    const { client, command } = clients[which]!
    const own = prefix()
    const store = new RedisPoolStore({ client, prefix: own })
    await store.lease(firstCall())
    const { win } = await store.lease(firstCall())
    const key = `${own}:{pool2:api}:60000`
    const keys = [key, `${key}:${win % 2}`]
    expect(((await command('KEYS', `${own}:*`)) as string[]).sort()).toEqual(keys)
    expect(store.keyOf('api', 60_000)).toBe(key)
    for (const each of keys) expect(await command('PEXPIRETIME', each)).toBe((win + 2) * 60_000)
  })

  it('says why Redis gave no answer', async () => {
    const { client, command } = clients[which]!
    const own = prefix()
    const store = new RedisPoolStore({ client, prefix: own })
    await command('SET', `${own}:{pool2:api}:60000`, 'not a pool')
    await expect(store.lease(firstCall())).rejects.toMatchObject({
      name: 'PoolStoreError',
      kind: 'wrong-type',
      message: expect.stringContaining('WRONGTYPE'),
      cause: expect.any(Error),
    })
    await command('DEL', `${own}:{pool2:api}:60000`)
  })
})

describe('a store whose Redis', () => {
  let server: RedisServer
  let admin: TestClient
  beforeAll(async () => {
    server = await startRedis()
    admin = await nodeRedis(server.url)
  })
  afterAll(async () => {
    await admin.close()
    await server.stop()
  })

  it.each([
    ['ioredis', ioRedis],
    ['redis', nodeRedis],
  ] as const)('takes no more data, or does not permit it, says so: %s', async (_name, connect) => {
    const one = await connect(server.url)
    const store = new RedisPoolStore({ client: one.client, prefix: prefix() })
    await admin.command('CONFIG', 'SET', 'maxmemory', '1')
    await expect(store.lease(firstCall())).rejects.toMatchObject({ kind: 'out-of-memory' })
    await admin.command('CONFIG', 'SET', 'maxmemory', '0')
    await admin.command('ACL', 'SETUSER', 'default', '-@scripting')
    await expect(store.lease(firstCall())).rejects.toMatchObject({ kind: 'no-permission' })
    await admin.command('ACL', 'SETUSER', 'default', '+@all')
    await one.close()
  })

  it('is gone, says so', async () => {
    const gone = await startRedis()
    const client = new Redis(gone.url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
    client.on('error', () => {})
    await client.connect()
    await gone.stop()
    await expect(new RedisPoolStore({ client }).lease(firstCall())).rejects.toMatchObject({ kind: 'network' })
    client.disconnect()
  })

  it('was emptied learns from its members what it granted, and grants on after a while', async () => {
    const own = prefix()
    const windowMs = 8_000
    const pool = { ...TERMS, windowMs }
    const store = new RedisPoolStore({ client: admin.client, prefix: own })
    // A window that does not end during this test.
    await vi.waitFor(() => expect(Date.now() % windowMs).toBeLessThan(windowMs / 4), { timeout: 2 * windowMs })
    const first = await store.lease(firstCall({ pool, member: 'a', need: 300 }))
    const second = await store.lease(firstCall({ pool, member: 'b', need: 200 }))
    expect([first.grant, second.grant]).toEqual([300, 200])
    await admin.command('DEL', store.keyOf('api', windowMs))
    const again = (member: string, { win, mark }: LeaseAnswer, holds: number, seq: number): Promise<LeaseAnswer> =>
      store.lease(firstCall({ pool, member, win, mark, holds, spent: holds, seq, need: 501 }))
    const meanwhile = await again('b', second, 200, 2)
    expect(meanwhile).toMatchObject({ grant: 0, mark: { total: 500 } })
    expect(meanwhile.waitMs).toBeGreaterThan(0)
    expect((await again('a', first, 300, 2)).mark.total).toBe(500)
    await vi.waitFor(async () => {
      const { grant } = await store.lease(firstCall({ pool, member: 'new', seq: Date.now(), need: 500 }))
      expect(grant).toBe(500)
    }, WATCHDOG)
    expect((await again('a', first, 300, 3)).grant).toBe(0)
  })
})

describe('regions on a pool in Redis', () => {
  it('split a tenant that is active in two of them', async () => {
    const own = prefix()
    const escrows = clients.map(({ client }, at) => {
      const store = new RedisPoolStore({ client, prefix: own })
      const pool = new RegionFairPool({ limit: 900, windowMs: LONG_MS, quantum: 5, store })
      return new FederatedFairEscrow({ region: `region-${at}`, pool, storeTimeoutMs: 30_000 })
    })
    const got: Record<string, number> = { both: 0, own0: 0, own1: 0 }
    for (let any = true; any; ) {
      any = false
      for (const [at, escrow] of escrows.entries())
        for (const tenant of ['both', `own${at}`])
          if ((await escrow.check(tenant, 1)).allowed) {
            got[tenant]!++
            any = true
          }
    }
    // A third each, but the unused part of the window so far goes to any tenant that asks, and one tenant asks in two
    // processes.
    expect(got['both']! + got['own0']! + got['own1']!).toBeGreaterThan(890)
    expect(got['both']! + got['own0']! + got['own1']!).toBeLessThanOrEqual(900)
    expect(got['both']!).toBeLessThan(1.5 * got['own0']!)
    await Promise.all(escrows.map((escrow) => escrow.close()))
  })
})

describe('what the store is made of', () => {
  it('is checked', () => {
    for (const client of [undefined, null, {}, 'redis://127.0.0.1', { eval: () => {} }]) {
      // @ts-expect-error -- what JavaScript may pass
      const options: RedisPoolStoreOptions = { client }
      expect(() => new RedisPoolStore(options)).toThrow('client must be a client of the package redis')
    }
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new RedisPoolStore({ client: clients[0]!.client, prefix: 1 })).toThrow('prefix must be a string')
    const misspelt = { client: clients[0]!.client, prefx: 'a' }
    expect(() => new RedisPoolStore(misspelt)).toThrow(/no option "prefx"/)
  })

  it('may be a pool of clients', async () => {
    const client = createClientPool({ url: server.url })
    client.on('error', () => {})
    await client.connect()
    const store = new RedisPoolStore({ client, prefix: prefix() })
    expect(await store.lease(firstCall())).toMatchObject({ grant: 1_000 })
    client.destroy()
  })
})

describe('on a cluster', () => {
  let node: RedisServer
  beforeAll(async () => {
    node = await startRedis({ cluster: true })
  })
  afterAll(() => node.stop())

  it('works with redis, and any number of pools', async () => {
    const client = createCluster({ rootNodes: [{ url: node.url }] })
    client.on('error', () => {})
    await client.connect()
    await useManyPools(client)
    client.destroy()
  })

  it('works with ioredis, and any number of pools', async () => {
    const client = new Cluster([node.url])
    await useManyPools(client)
    client.disconnect()
  })

  it('keeps a pool in one slot, whatever its name', async () => {
    const single = createClient({ url: node.url })
    await single.connect()
    const store = new RedisPoolStore({ client: single })
    const slot = (key: string): Promise<unknown> => single.sendCommand(['CLUSTER', 'KEYSLOT', key])
    for (const name of ['api', 'ä', '}', '}{x}', '{a}b']) {
      const key = store.keyOf(name, 1_000)
      expect(await slot(`${key}:0`), name).toBe(await slot(key))
      expect(await slot(`${key}:1`), name).toBe(await slot(key))
    }
    expect(await slot(store.keyOf('api', 1_000))).not.toBe(await slot(store.keyOf('orders', 1_000)))
    single.destroy()
  })

  async function useManyPools(client: RedisClient): Promise<void> {
    const store = new RedisPoolStore({ client, prefix: prefix() })
    for (let at = 0; at < 50; at++)
      expect(await store.lease(firstCall({ pool: { ...TERMS, name: `pool-${at}` } }))).toMatchObject({ grant: 1_000 })
  }
})
