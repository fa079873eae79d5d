import { LeasedFairEscrow, type OnStoreError } from '@fairlead/core/escrow'
import { manualClock } from '@fairlead/core/testing'
import { type RedisServer, startRedis } from '@fairlead-testing/servers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ioRedis, nodeRedis, type TestClient } from './fixtures/clients.js'
import { RedisPoolStore } from './index.js'

const TIMEOUT_MS = 50
/** A window that began in 2023 and does not end during the tests; hardly any of it has passed. */
const WINDOW_MS = 1_700_000_000_000
const SHARED = { pool: 'hanging', limit: 1_000, windowMs: WINDOW_MS, quantum: 10, storeTimeoutMs: TIMEOUT_MS }
const WATCHDOG = { timeout: 60_000, interval: 10 }

describe.each([
  ['redis', nodeRedis],
  ['ioredis', ioRedis],
] as const)('an escrow whose Redis hangs, with %s', (_name, connect) => {
  let server: RedisServer
  let client: TestClient
  beforeEach(async () => {
    server = await startRedis()
    client = await connect(server.url)
  })
  afterEach(async () => {
    server.resume()
    await client.close()
    await server.stop()
  })

  // The test advances the escrow's time: a Redis that is only slow must not count as failed.
  const clock = manualClock()
  const timers = new Set<() => void>()
  const after = (_ms: number, ring: () => void): (() => void) => {
    timers.add(ring)
    return () => timers.delete(ring)
  }
  function timeOut(): void {
    // A time-out is counted in steps.
    for (let step = 0; step < 4; step++) {
      clock.advance(TIMEOUT_MS / 4)
      for (const ring of [...timers]) if (timers.delete(ring)) ring()
    }
  }

  function escrow(onStoreError: OnStoreError, pool: string = SHARED.pool): LeasedFairEscrow {
    const store = new RedisPoolStore({ client: client.client })
    return new LeasedFairEscrow({ ...SHARED, pool, store, onStoreError, clock, after })
  }

  /** Asks for one more unit until Redis has answered. */
  function answered(one: LeasedFairEscrow, answer: object = { reason: undefined }): Promise<void> {
    return vi.waitFor(async () => {
      timeOut()
      expect(await one.check('a', 1)).toMatchObject(answer)
    }, WATCHDOG)
  }

  /** The grants that Redis has recorded, in total. */
  async function grantedIn(pool: string, windowMs: number): Promise<number> {
    const script = "return cjson.encode(cmsgpack.unpack(redis.call('HGET', KEYS[1], 'head'))[5])"
    return JSON.parse(String(await client.command('EVAL', script, '1', `fairlead:{pool2:${pool}}:${windowMs}`)))
  }

  it('answers what is declared, at once after the first time, and goes on when Redis does', async () => {
    for (const onStoreError of ['refuse', 'last-share', 'admit'] as const) {
      const one = escrow(onStoreError, onStoreError)
      expect(await one.check('a', 10)).toMatchObject({ allowed: true, reason: undefined })
      server.hang()
      // Nearly the whole limit was kept for the only process.
      const declared = { allowed: onStoreError !== 'refuse', reason: 'store-error' }
      // Redis never answers this one, so it ends by the timeout.
      const asked = one.check('a', 10)
      timeOut()
      expect(await asked).toMatchObject(declared)
      expect(one.check('a', 10)).toMatchObject(declared)
      server.resume()
      // Others may have spent the kept amount as well as this process: the pool waits for the report.
      const waits = { reason: 'over-share', retryAfterMs: expect.closeTo(45_000, -4) }
      await answered(one, onStoreError === 'last-share' ? waits : undefined)
      // Redis has received the whole report; a draw ahead of need may still be on its way.
      await vi.waitFor(async () => {
        const known = await grantedIn(onStoreError, WINDOW_MS)
        const { used, granted } = one.snapshot()
        expect(known).toBeCloseTo(onStoreError === 'last-share' ? used : granted, 6)
      }, WATCHDOG)
      await one.close()
    }
  })

  it('has not lost what it drew meanwhile: a call that was sent again is granted once', async () => {
    const one = escrow('refuse')
    await one.check('a', 10)
    server.hang()
    const asked = one.check('a', 10)
    const { storeCalls } = one.snapshot()
    // Sent again after each time-out; all of them wait in the socket.
    for (let again = 1; again <= 3; again++) {
      timeOut()
      one.check('a', 10)
      expect(one.snapshot().storeCalls).toBe(storeCalls + again)
    }
    expect(await asked).toMatchObject({ reason: 'store-error' })
    server.resume()
    await answered(one)
    expect(one.snapshot()).toMatchObject({ granted: 20, used: 11 })
    // A draw ahead of need may still be on its way.
    await vi.waitFor(async () => {
      const known = await grantedIn('hanging', SHARED.windowMs)
      expect(known).toBeCloseTo(one.snapshot().granted, 6)
    }, WATCHDOG)
  })
})
