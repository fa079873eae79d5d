import { createGate } from '@fairlead/core'
import { type RedisServer, startRedis } from '@fairlead-testing/servers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ioRedis, nodeRedis } from './fixtures/clients.js'
import { ClockFleet, type ClockMember } from './fixtures/clock-fleet.js'
import { redisFleet } from './index.js'

/** Nothing waits for so long when all is well, however busy the machine is. */
const WATCHDOG = { timeout: 90_000, interval: 20 }
const KEY = 'fleet-test:clock:{orders}'

let server: RedisServer
let fleet: ClockFleet | undefined
afterEach(async () => {
  server.resume()
  await fleet?.stop()
  await server.stop()
})

/** Waits until each of these shares the clock with as many. */
function shares(some: readonly ClockMember[]): Promise<void> {
  return vi.waitFor(() => {
    expect(some.map(({ sharing }) => sharing?.members)).toEqual(some.map(() => some.length))
  }, WATCHDOG)
}

function isAlone(some: readonly ClockMember[]): Promise<void> {
  return vi.waitFor(() => expect(some.map(({ sharing }) => sharing)).toEqual(some.map(() => null)), WATCHDOG)
}

async function four(options: { cluster?: boolean } = {}): Promise<readonly ClockMember[]> {
  server = await startRedis(options)
  fleet = new ClockFleet(server.url)
  await shares(fleet.members)
  return fleet.members
}

describe('four processes on a Redis', () => {
  it('share one clock as soon as their resource is short, and know their parts of it', async () => {
    const all = await four()
    await vi.waitFor(() => {
      expect(all.reduce((sum, { sharing }) => sum + (sharing?.part ?? 0), 0)).toBeCloseTo(1, 0)
      for (const { sharing } of all) expect(sharing?.part).toBeLessThan(0.5)
    }, WATCHDOG)
  })

  it('call it twenty times a second each at most, on one key that expires', async () => {
    await four()
    const { command, close } = await nodeRedis(server.url)
    const sample = async (): Promise<{ calls: number; atUs: number }> => {
      const [stats, time] = await Promise.all([command('INFO', 'commandstats'), command('TIME')])
      const [seconds, us] = time as [string, string]
      return { calls: Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(stats))?.[1]), atUs: 1e6 * +seconds + +us }
    }
    const before = await sample()
    const after = await vi.waitFor(async () => {
      const now = await sample()
      expect(now.calls).toBeGreaterThan(before.calls + 600)
      return now
    }, WATCHDOG)
    const seconds = (after.atUs - before.atUs) / 1e6
    // Two in a tenth of a second: a span may begin and end with both.
    expect((after.calls - before.calls) / 4).toBeLessThanOrEqual(20 * seconds + 2)
    expect(await command('KEYS', '*')).toEqual([KEY])
    expect(Number(await command('PTTL', KEY))).toBeGreaterThan(0)
    expect(JSON.stringify(await command('HGETALL', KEY)).length).toBeLessThan(16_384)
    await close()
  })

  it('go on when the one that keeps the clock is killed, and when it stops', async () => {
    const all = await four()
    const { command, close } = await ioRedis(server.url)
    // Members are told apart by who falls silent: the holder is one of them.
    const holder = async (): Promise<string> => String(await command('HGET', KEY, 'arbiter')).split(' ')[0]!
    const first = await holder()
    let left = [...all]
    for (const one of all) {
      if ((await holder()) !== first || left.length === 2) break
      await one.kill()
      left = left.filter((each) => each !== one)
      await shares(left)
    }
    expect(left.length).toBeGreaterThanOrEqual(2)
    const [stopped, ...others] = left as [ClockMember, ...ClockMember[]]
    stopped.signal('SIGSTOP')
    await shares(others)
    stopped.signal('SIGCONT')
    await shares(left)
    await close()
  })

  it('are joined by their successors in a rolling deploy', async () => {
    const all = await four()
    const young: ClockMember[] = []
    for (const [i, old] of [...all].entries()) {
      await old.close()
      young.push(fleet!.start())
      await shares([...all.slice(i + 1, 4), ...young])
    }
  })

  it('are each on their own while Redis hangs, is away, or has lost its memory, and share again', async () => {
    const all = await four()
    server.hang()
    await isAlone(all)
    server.resume()
    await shares(all)
    const { port } = server
    await server.stop()
    await isAlone(all)
    server = await startRedis({ port })
    await shares(all)
    const { command, close } = await nodeRedis(server.url)
    await command('FLUSHALL')
    await command('SCRIPT', 'FLUSH')
    await shares(all)
    await close()
  })

  it('need no more than one slot of a cluster', async () => {
    await four({ cluster: true })
  })
})

describe('redisFleet', () => {
  it('names what is wrong with its options', async () => {
    server = await startRedis()
    const { client, close } = await nodeRedis(server.url)
    expect(() => redisFleet({} as never)).toThrow(/client must be/)
    expect(() => redisFleet(client, { prefix: '' })).toThrow(/redisFleet\.prefix/)
    expect(() => redisFleet(client, { perfix: 'x' } as never)).toThrow(/perfix/)
    const fleet = redisFleet(client)
    expect(() => createGate({ name: '', fleet })).toThrow(/name/)
    expect(() => createGate({ fleet: {} as never })).toThrow(/fleet\.join/)
    expect(() => createGate({ fair: false, fleet })).toThrow(/fleet/)
    await fleet.close()
    await close()
  })
})
