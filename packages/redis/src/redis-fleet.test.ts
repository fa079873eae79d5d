import { createGate } from '@fairlead/core'
import { FleetProcesses } from '@fairlead/testing'
import { type RedisServer, startRedis } from '@fairlead-testing/servers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ioRedis, nodeRedis } from './fixtures/clients.js'
import { startMember } from './fixtures/start-member.js'
import { redisFleet } from './index.js'

/** Longer than any wait of a working test, even on a busy machine. */
const WATCHDOG = { timeout: 90_000, interval: 20 }
const KEY = 'fleet-test:clock5:{orders}'

/** In `pnpm test:wide` only: each starts four processes. */
const inWide = it.runIf(process.env['FAIRLEAD_WIDE'] !== undefined)

let server: RedisServer

describe('four processes on a Redis', () => {
  let fleet: FleetProcesses | undefined
  afterEach(async () => {
    await fleet?.stop()
    await server.stop()
  })

  async function four(options: { cluster?: boolean } = {}): Promise<FleetProcesses> {
    server = await startRedis(options)
    fleet = new FleetProcesses({ start: (load) => startMember(server.url, load) })
    await fleet.shares(fleet.all)
    return fleet
  }

  it('call it some eight times a second each, on one key that expires', async () => {
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
      expect(now.calls).toBeGreaterThan(before.calls + 100)
      return now
    }, WATCHDOG)
    const seconds = (after.atUs - before.atUs) / 1e6
    // Half as much again: calls that a busy machine has delayed may come in the span, too.
    expect((after.calls - before.calls) / 4).toBeLessThanOrEqual(12 * seconds)
    expect(await command('KEYS', '*')).toEqual([KEY])
    expect(Number(await command('PTTL', KEY))).toBeGreaterThan(0)
    expect(JSON.stringify(await command('HGETALL', KEY)).length).toBeLessThan(16_384)
    await close()
  })

  inWide('go on when the one that keeps the clock is killed, and when one stops', async () => {
    const { all, shares } = await four()
    const { command, close } = await ioRedis(server.url)
    // An id does not show its process, so processes are killed in turn until the holder changes.
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
    const [stopped, ...others] = left
    stopped?.signal('SIGSTOP')
    await shares(others)
    stopped?.signal('SIGCONT')
    await shares(left)
    await close()
  })

  inWide('share again after Redis has lost keys and scripts', async () => {
    const { all, shares } = await four()
    const { command, close } = await nodeRedis(server.url)
    await command('FLUSHALL')
    await command('SCRIPT', 'FLUSH')
    await shares(all)
    await close()
  })

  inWide('need no more than one slot of a cluster', async () => {
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
    await server.stop()
  })
})
