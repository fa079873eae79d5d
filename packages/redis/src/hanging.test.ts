import { LeasedFairEscrow, type OnStoreError } from '@fairlead/core'
import { type RedisServer, startRedis } from '@fairlead-testing/servers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ioRedis, nodeRedis, type TestClient } from './fixtures/clients.js'
import { RedisPoolStore } from './index.js'

/** A window so long that none ends here. */
const SHARED = { pool: 'hanging', limit: 1_000, windowMs: 1_000_000_000, quantum: 10, storeTimeoutMs: 50 }
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

  function escrow(onStoreError: OnStoreError): LeasedFairEscrow {
    return new LeasedFairEscrow({ ...SHARED, store: new RedisPoolStore({ client: client.client }), onStoreError })
  }

  it('answers what is declared, at once after the first time, and goes on when Redis does', async () => {
    for (const onStoreError of ['refuse', 'local-share', 'admit'] as const) {
      const one = escrow(onStoreError)
      expect(await one.check('a', 10)).toMatchObject({ allowed: true, reason: undefined })
      server.hang()
      // Nearly all that there is was kept for the only process.
      const declared = { allowed: onStoreError !== 'refuse', reason: 'store-error' }
      // Redis never answers this one, so it ends by the timeout.
      expect(await one.check('a', 10)).toMatchObject(declared)
      expect(one.check('a', 10)).toMatchObject(declared)
      server.resume()
      await vi.waitFor(async () => expect(await one.check('a', 1)).toMatchObject({ reason: undefined }), WATCHDOG)
      await one.close()
    }
  })

  it('has not lost what it drew meanwhile: a call that was sent again is granted once', async () => {
    const one = escrow('refuse')
    await one.check('a', 10)
    server.hang()
    await one.check('a', 10)
    // Sent again each time that the timeout is over; all of them wait in the socket.
    for (let calls = one.snapshot().storeCalls; one.snapshot().storeCalls < calls + 3; ) {
      await one.check('a', 10)
      await new Promise((resolve) => setImmediate(resolve))
    }
    server.resume()
    await vi.waitFor(async () => expect((await one.check('a', 1)).reason).toBeUndefined(), WATCHDOG)
    expect(one.snapshot()).toMatchObject({ granted: 20, used: 11 })
    const granted = await client.command('HGET', `fairlead:pool:{hanging}:${SHARED.windowMs}`, 'granted')
    expect(Number(granted)).toBe(20)
  })
})
