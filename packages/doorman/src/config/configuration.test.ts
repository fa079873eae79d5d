import { until } from '@fairlead-testing/waiting'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ConfigFile, fairShareYaml } from '../fixtures/doorman-process.js'
import { startEtcd, type TestEtcd } from '../fixtures/etcd.js'
import { textOf } from '../fixtures/text-of.js'
import type { Log } from '../observe/notices.js'
import { type Doorman, startDoorman } from '../start-doorman.js'

let etcd: TestEtcd
const ends: (() => unknown)[] = []

beforeAll(async () => {
  etcd = await startEtcd()
})

afterAll(() => etcd.stop())

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A log that keeps its lines. */
function memory(): Log & { lines: string[] } {
  const lines: string[] = []
  const keep = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`)
  return { lines, info: keep, warn: keep, error: keep }
}

async function start(config: string, log: Log): Promise<Doorman> {
  const options = { config, etcdEndpoints: [etcd.url], host: '127.0.0.1', hostname: '127.0.0.1', debugPort: 0, log }
  const doorman = await startDoorman(options)
  ends.push(() => doorman.close())
  return doorman
}

function capacityOf({ server }: Doorman): number | undefined {
  return server.snapshot().templates[0]?.capacity
}

describe.each(['a file', 'a key in etcd'])('a configuration in %s', (kind) => {
  /** A configuration source, with a text in it. */
  async function place(
    text: string,
  ): Promise<{ where: string; write(text: string): Promise<unknown>; remove(): Promise<unknown> }> {
    if (kind === 'a file') {
      const file = await ConfigFile.with(text)
      ends.push(() => file.remove())
      return { where: `file:${file.path}`, write: (next) => file.write(next), remove: () => file.remove() }
    }
    const key = `config-${Math.random()}`
    const write = async (next: string): Promise<unknown> => etcd.client.put(key).value(next)
    await write(text)
    return { where: `etcd:${key}`, write, remove: async () => etcd.client.delete().key(key).exec() }
  }

  it('is taken when it changes', async () => {
    const { where, write } = await place(fairShareYaml(100, 60, 5))
    const doorman = await start(where, memory())
    expect(capacityOf(doorman)).toBe(100)
    await write(fairShareYaml(250, 60, 5))
    await until('the new capacity', () => capacityOf(doorman) === 250)
  })

  it('is refused with its reason when it is wrong, and the old one stays until a good one comes', async () => {
    const { where, write } = await place(fairShareYaml(100, 60, 5))
    const log = memory()
    const doorman = await start(where, log)
    const page = (): Promise<string> => textOf(doorman.debugUrl!)
    await write(fairShareYaml(250, 3, 5))
    await until('the reason', () => log.lines.some((line) => /refused.*leaseLength.*integer >= 5, got 3/.test(line)))
    expect(capacityOf(doorman)).toBe(100)
    expect(await page()).toContain('got 3')
    await write('}{')
    await until('the other reason', async () => !(await page()).includes('got 3'))
    expect(capacityOf(doorman)).toBe(100)
    await write('resources: [null]')
    await until('the third reason', () => log.lines.some((line) => line.includes('resources[0] must be an object')))
    expect(capacityOf(doorman)).toBe(100)
    expect(log.lines.filter((line) => line.includes('refused'))).toHaveLength(3)
    await write(fairShareYaml(300, 60, 5))
    await until('the new capacity', () => capacityOf(doorman) === 300)
    expect(await page()).not.toContain('old one')
  })

  it('may go away; the old one stays', async () => {
    const { where, remove } = await place(fairShareYaml(100, 60, 5))
    const log = memory()
    const doorman = await start(where, log)
    await remove()
    await until('a complaint', () => log.lines.some((line) => line.includes('cannot be read')))
    expect(capacityOf(doorman)).toBe(100)
  })

  it('must be there and right at the start', async () => {
    const { where, write, remove } = await place('resources: []')
    await expect(start(where, memory())).rejects.toThrow('must contain an entry for "*"')
    await write('resources: 1')
    await expect(start(where, memory())).rejects.toThrow('resources must be a list, got 1')
    await remove()
    await expect(start(where, memory())).rejects.toThrow(kind === 'a file' ? 'ENOENT' : 'there is no key')
  })
})
