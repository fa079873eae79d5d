import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  admin,
  admitMore,
  goOn,
  LIMIT,
  limitHolds,
  makeWindowsLast,
  member,
  pass,
  redis,
  tidy,
  usesBy,
  WATCHDOG,
  wayTo,
  windowNow,
  working,
} from './fixtures/real-fleet.js'

afterEach(tidy)

describe('four processes on one Redis', () => {
  it('never admit more than the limit where an older snapshot of it is restored, and go on', async () => {
    const server = await redis()
    const client = admin(server)
    const fleet = await working(server.url)
    for (let time = 0; time < 3; time++) {
      const keys = await client.keys('fleet-test:*')
      const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)))
      await admitMore(fleet)
      const older = keys.flatMap((key, at) => (dumps[at] ? [[key, dumps[at]] as const] : []))
      expect(older.length).toBeGreaterThan(1)
      await client.multi(older.map(([key, dump]) => ['restore', key, 0, dump, 'REPLACE'])).exec()
      await pass(2, fleet)
    }
    await goOn(fleet)
    await Promise.all(fleet.map((one) => one.finish()))
    limitHolds()
  })

  it('never admit more than the limit where a replica takes over that lags, and go on', async () => {
    const [server, replica] = [await redis(), await redis()]
    const way = await wayTo(server.port)
    const fleet = await working(way.url)
    const client = admin(replica)
    await client.replicaof('127.0.0.1', server.port)
    await vi.waitFor(async () => {
      expect(await client.info('replication')).toContain('master_link_status:up')
      expect(await client.keys('fleet-test:*')).not.toEqual([])
    }, WATCHDOG)
    // From now on it hears nothing.
    await client.replicaof('NO', 'ONE')
    await admitMore(fleet)
    await server.stop()
    way.leadTo(replica.port)
    await goOn(fleet)
    await Promise.all(fleet.map((one) => one.finish()))
    limitHolds()
  })

  it('never admit more than the limit, and use it, where all processes are replaced, one after the other', async () => {
    const server = await redis()
    let fleet = await working(server.url)
    for (const [at, tenants] of [{ heavy: 4 }, { a: 1 }, { b: 1 }, { a: 1, c: 1 }].entries()) {
      const heir = member(server.url, at, tenants)
      const rest = [...fleet.slice(1), heir]
      await fleet[0]!.finish()
      fleet = rest
      await pass(1, fleet)
    }
    await goOn(fleet)
    await Promise.all(fleet.map((one) => one.finish()))
    limitHolds()
  })
  it('never admit more than the limit, and use it, 50 ms away, where loops are blocked and processes die', async () => {
    makeWindowsLast(2_000)
    const server = await redis()
    const way = await wayTo(server.port, 25)
    const fleet = await working(way.url)
    await pass(2, fleet)
    const from = windowNow() + 1
    await pass(4, fleet)
    for (const one of fleet) {
      one.block(120)
      await pass(1, fleet)
    }
    const [first, victim, ...others] = fleet
    victim!.signal('SIGKILL')
    const faulty = windowNow()
    const now = [first!, member(way.url, 1, { a: 1 }), ...others]
    await pass(5, now)
    const all = usesBy(first!, [...fleet, now[1]!], from, now).filter(({ win }) => win !== faulty)
    expect(all.length).toBeGreaterThan(10)
    const used = all.map(({ sum }) => sum / LIMIT).sort((a, b) => a - b)
    const seen = JSON.stringify(all)
    expect(used[used.length >> 1], seen).toBeGreaterThanOrEqual(0.97)
    // On a busy machine a window may lack a part.
    expect(used[1], seen).toBeGreaterThanOrEqual(0.9)
    await Promise.all(now.map((one) => one.finish()))
    limitHolds()
  })
})
