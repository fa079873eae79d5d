import { type LeaseCall, LeasedFairEscrow, poolTerms } from '@fairlead/core/escrow'
import { poolStoreContract } from '@fairlead/testing'
import { type PostgresServer, startPostgres } from '@fairlead-testing/servers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type PostgresClient, PostgresPoolStore, type PostgresPoolStoreOptions } from './index.js'

/** A window that began in 2023 and does not end during the tests; hardly any of it has passed. */
const LONG_MS = 1_700_000_000_000
const TERMS = poolTerms({ name: 'api', limit: 1_000, windowMs: LONG_MS })

let server: PostgresServer
let clients: pg.Pool[]
beforeAll(async () => {
  server = await startPostgres()
  clients = [1, 2].map(() => new pg.Pool({ connectionString: server.url, max: 4 }))
  for (const client of clients) client.on('error', () => {})
  await new PostgresPoolStore({ client: clients[0]! }).setUp()
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()))
  await server.stop()
})

let calls = 0
/** The first call of a new member. */
function firstCall(more: Partial<LeaseCall> = {}): LeaseCall {
  const member = `m${calls++}`
  const none = { weight: 0, used: 0 }
  const mark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }
  return {
    ...{ pool: TERMS, member, seq: 1, win: -1, holds: 0, spent: 0, mark, quiet: none },
    ...{ tenants: [{ tenant: member, weight: 1, used: 0, rate: 1, ask: 0 }], need: 10, ...more },
  }
}

describe('contract of stores, in Postgres', () => {
  const store = (at: number): PostgresPoolStore => new PostgresPoolStore({ client: clients[at]! })
  const cases = poolStoreContract({
    stores: [{ lease: (call) => store(0).lease(call) }, { lease: (call) => store(1).lease(call) }],
    forget: async () => {
      await clients[0]!.query('TRUNCATE fairlead_pools, fairlead_tenants')
    },
    plays: process.env['FAIRLEAD_WIDE'] === undefined ? 1 : 2,
  })
  for (const { name, run } of cases) it(name, run)
})

describe('the store in Postgres', () => {
  it('does a step again that another process was faster than', async () => {
    const pool = { ...TERMS, name: 'raced' }
    let isFirst = true
    const slow: PostgresClient = {
      async query(statement) {
        if (isFirst && statement.text.includes('INSERT')) {
          isFirst = false
          await new PostgresPoolStore({ client: clients[1]! }).lease(firstCall({ pool, need: 700 }))
        }
        return clients[0]!.query(statement)
      },
    }
    const answer = await new PostgresPoolStore({ client: slow }).lease(firstCall({ pool, need: 400 }))
    expect(answer).toMatchObject({ grant: 0, mark: { total: 700, rev: 2 } })
  })

  it('keeps names of any length', async () => {
    const store = new PostgresPoolStore({ client: clients[0]! })
    // Names that hardly compress, and share a long prefix.
    const long = (last: number): string =>
      `t${Array.from({ length: 6_000 }, (_, at) => ((at * at * 7_919 + at * 104_729) % 99_991).toString(36)).join('')}${last}`
    const pool = { ...TERMS, name: long(0) }
    const tenants = [1, 2].map((last) => ({ tenant: long(last), weight: 1, used: last, rate: 1, ask: 0 }))
    const first = firstCall({ pool, tenants })
    expect(await store.lease(first)).toMatchObject({ grant: 10 })
    const { win, mark } = await store.lease(first)
    const second = { ...firstCall({ pool, tenants: [tenants[1]!] }), win, mark }
    expect(await store.lease(second)).toMatchObject({ mark: { total: 20 }, shares: [0.5] })
    expect(await store.lease(firstCall({ pool: { ...pool, name: long(3) } }))).toMatchObject({ mark: { total: 10 } })
  })

  it('goes on after a query that is never answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let isHanging = true
      const client: PostgresClient = {
        query: (statement) => {
          if (!isHanging) return clients[0]!.query(statement)
          isHanging = false
          return new Promise(() => {})
        },
      }
      const store = new PostgresPoolStore({ client })
      const pool = { ...TERMS, name: 'hanging' }
      void store.lease(firstCall({ pool }))
      const others = [store.lease(firstCall({ pool })), store.lease(firstCall({ pool }))]
      await vi.advanceTimersByTimeAsync(1_000)
      vi.useRealTimers()
      const answers = await Promise.all(others)
      expect(answers.map(({ grant }) => grant)).toEqual([10, 10])
      // Both waited their second at the same time: either may come first.
      expect(answers.map(({ mark }) => mark?.total).sort()).toEqual([10, 20])
    } finally {
      vi.useRealTimers()
    }
  })

  it('keeps a row per pool and one per tenant, and deletes those of former windows bit by bit', async () => {
    const store = new PostgresPoolStore({ client: clients[0]!, prefix: 'short' })
    await store.setUp()
    await store.setUp()
    const pool = { ...TERMS, name: 'short', windowMs: 50 }
    const count = async (): Promise<number[]> => {
      const of = async (table: string): Promise<number> =>
        Number((await clients[0]!.query(`SELECT count(*) AS n FROM short_${table}`)).rows[0].n)
      return [await of('pools'), await of('tenants')]
    }
    const tenants = Array.from({ length: 64 }, (_, at) => ({ tenant: `t${at}`, weight: 1, used: 0, rate: 1, ask: 0 }))
    const { win } = await store.lease(firstCall({ pool, tenants }))
    expect(await count()).toEqual([1, 64])
    // The tenants of the last window are still read.
    for (let now = win; now <= win + 1; ) now = (await store.lease(firstCall({ pool, tenants: [], need: 0 }))).win
    expect(await count()).toEqual([1, 0])
  })

  it('shares by weight between two processes', async () => {
    const world = { pool: 'shared', limit: 1_000, windowMs: LONG_MS, quantum: 10, storeTimeoutMs: 60_000 }
    const weightOf = (tenant: string): number => (tenant === 'heavy' ? 4 : 1)
    const escrows = clients.map((client) => {
      const store = new PostgresPoolStore({ client })
      return new LeasedFairEscrow({ ...world, weightOf, store })
    })
    const got = [0, 0]
    for (let any = true; any; ) {
      any = false
      for (const [at, tenant] of ['heavy', 'light'].entries())
        if ((await escrows[at]!.check(tenant, 1)).allowed) {
          got[at]!++
          any = true
        }
    }
    expect(got[0]! + got[1]!).toBeLessThanOrEqual(1_000)
    expect(Math.abs(got[0]! - 800)).toBeLessThanOrEqual(20)
    await Promise.all(escrows.map((escrow) => escrow.close()))
  })

  it('says why Postgres gave no answer', async () => {
    const lease = (client: PostgresClient, prefix = 'fairlead') =>
      new PostgresPoolStore({ client, prefix }).lease(firstCall())
    await expect(lease(clients[0]!, 'nowhere')).rejects.toMatchObject({ name: 'PoolStoreError', kind: 'wrong-type' })
    const gone = new pg.Pool({ connectionString: 'postgres://postgres@127.0.0.1:1/postgres' })
    await expect(lease(gone)).rejects.toMatchObject({ kind: 'network', cause: expect.any(Error) })
    await clients[0]!.query('CREATE ROLE nobody LOGIN')
    const nobody = new pg.Pool({ connectionString: server.url.replace('postgres@', 'nobody@') })
    await expect(lease(nobody)).rejects.toMatchObject({ kind: 'no-permission' })
    await nobody.end()
    const late = new pg.Pool({ connectionString: server.url, statement_timeout: 1 })
    const slow = { query: (): Promise<pg.QueryResult> => late.query('SELECT pg_sleep(60)') }
    await expect(lease(slow)).rejects.toMatchObject({ kind: 'timeout' })
    await late.end()
    await expect(lease({ query: async () => ({ rows: [] }) })).rejects.toMatchObject({ kind: 'not-a-client' })
  })

  it('checks what it is made of', () => {
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new PostgresPoolStore()).toThrow('PostgresPoolStore must be an object')
    const client = clients[0]!
    const bad: [object, RegExp][] = [
      [{ client: {} }, /client must be a Pool or a Client of the package pg/],
      [{ client, prefix: 'a"b' }, /prefix must be letters, digits and underscores, 41 at most, got "a\\"b"/],
      [{ client, prefx: 'a' }, /no option "prefx"/],
    ]
    for (const [options, message] of bad)
      expect(() => new PostgresPoolStore(options as PostgresPoolStoreOptions)).toThrow(message)
  })
})
