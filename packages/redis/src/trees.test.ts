import {
  hierarchy,
  type LeaseAnswer,
  type LeaseCall,
  type LeasedDecision,
  LeasedFairEscrow,
} from '@fairlead/core/escrow'
import { type RedisServer, withRedisUrl } from '@fairlead-testing/servers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ioRedis, nodeRedis, type TestClient } from './fixtures/clients.js'
import { RedisPoolStore } from './index.js'

const WINDOW_MS = 1_500
const LIMIT = 600
const TENANTS = ['acme/web', 'acme/ops', 'globex/1', 'solo']
const TREE = hierarchy({
  name: 'all',
  children: [
    {
      name: 'acme',
      weight: 2,
      children: [{ name: 'acme/web' }, { name: 'ops', weight: 1, children: [{ name: 'acme/ops' }] }],
    },
    { name: 'globex', weight: 1, children: [{ name: 'globex/1' }] },
    { name: 'solo' },
  ],
})

/** Longer than any wait of a working test, even on a busy machine. */
const WATCHDOG = { timeout: 100_000, interval: 2 }

describe('trees on a pool in Redis', () => {
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

  it('begin a window with credit that each group drew ahead, and spend at most the limit in it', async () => {
    const prefix = `fairlead-test-${Math.random()}`
    // Pools of processes that entered a window before Redis reported it.
    const begunAhead = new Set<string>()
    const escrows = clients.map(({ client }, at) => {
      const store = new RedisPoolStore({ client, prefix })
      const told = new Map<string, number>()
      const lease = async (call: LeaseCall): Promise<LeaseAnswer> => {
        const { name } = call.pool
        if (call.holds > 0 && call.win > (told.get(name) ?? call.win)) begunAhead.add(`${name} of ${at}`)
        const answer = await store.lease(call)
        told.set(name, answer.win)
        return answer
      }
      const shared = { pool: 'api', limit: LIMIT, windowMs: WINDOW_MS, quantum: 6, storeTimeoutMs: 30_000 }
      return new LeasedFairEscrow({ ...shared, store: { lease }, tree: TREE })
    })
    const windowOf = (atMs: number): number => Math.floor(atMs / WINDOW_MS)
    const spent = new Map<number, number>()
    await vi.waitFor(() => {
      for (const escrow of escrows)
        for (const tenant of TENANTS) {
          const fromMs = Date.now()
          const count = ({ allowed, cost }: LeasedDecision): void => {
            const win = windowOf(fromMs)
            // Redis runs on the same machine, so this is its time, too. Admissions that may belong to another window
            // are not counted.
            if (allowed && windowOf(Date.now()) === win) spent.set(win, (spent.get(win) ?? 0) + cost)
          }
          const answer = escrow.check(tenant, 1)
          if (answer instanceof Promise) void answer.then(count)
          else count(answer)
        }
      expect(spent.size).toBeGreaterThan(4)
      // The pool of all tenants, and one for each group.
      expect(begunAhead.size).toBe(4 * clients.length)
    }, WATCHDOG)
    await Promise.all(escrows.map((escrow) => escrow.close()))
    for (const [win, cost] of spent) expect(cost, `window ${win}`).toBeLessThanOrEqual(LIMIT)
  })
})
