import { fileURLToPath } from 'node:url'
import { until } from '@fairlead-testing/waiting'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConfigFile, DoormanProcess, fairShareYaml } from './fixtures/doorman-process.js'
import { TestProcess } from './fixtures/test-process.js'
import { textOf } from './fixtures/text-of.js'

const CLIENT = fileURLToPath(new URL('./fixtures/client-process.mjs', import.meta.url))

const IS_WIDE = process.env['FAIRLEAD_WIDE'] !== undefined

/** Longer than the restart of a server, so that no lease ends meanwhile. */
const LEASE_SECONDS = 60
/** Capacity of every resource. */
const CAPACITY = 100

interface Fleet {
  server: DoormanProcess
  config: ConfigFile
}

let fleet: Fleet
const children: TestProcess[] = []

beforeEach(async () => {
  const config = await ConfigFile.with(fairShareYaml(CAPACITY, LEASE_SECONDS, 2))
  const server = await DoormanProcess.start('--fresh', '--config', config.path, '--minimum-refresh-interval', '1s')
  fleet = { config, server }
})

afterEach(async () => {
  await Promise.all([fleet.server.child, ...children.splice(0)].map((child) => child.stop()))
  await fleet.config.remove()
})

function client(server: string, id: string, wants: number): TestProcess {
  const child = new TestProcess(process.execPath, [CLIENT, server, id, String(wants)])
  children.push(child)
  return child
}

/** The capacity that each client states. Fails if the sum exceeds the total. */
function capacities(clients: readonly TestProcess[]): number[] {
  const has = clients.map(({ output }) => {
    const [, capacity = 0] = [...output.matchAll(/"capacity":(.+)\}\n/g)].at(-1) ?? []
    return Number(capacity)
  })
  const sum = has.reduce((all, each) => all + each, 0)
  expect(sum, `what [${has.join(', ')}] have in all`).toBeLessThanOrEqual(CAPACITY + 1e-6)
  return has
}

describe('one server and many client processes', () => {
  /** What each wants, and its fair share, by max-min: each client is a process. */
  const four = [
    [10, 60, 80, 100],
    [10, 30, 30, 30],
  ] as const
  const eight = [
    [5, 10, 15, 40, 60, 80, 100, 100],
    [5, 10, 14.1667, 14.1667, 14.1667, 14.1667, 14.1667, 14.1667],
  ] as const

  it('share a resource by max-min, over gRPC and HTTP alike, and never have more than there is', async () => {
    const { address, httpUrl } = fleet.server
    const [wants, fair] = IS_WIDE ? eight : four
    const clients = wants.map((each, i) => client(i % 2 === 0 ? address : httpUrl, `client-${i}`, each))
    await until('everybody has the fair share', () => {
      const has = capacities(clients)
      return has.every((each, i) => Math.abs(each - fair[i]!) < 0.01)
    })
    // Half of them leave, and give their capacity back.
    const stay = clients.splice(0, clients.length / 2)
    for (const leaving of clients) leaving.kill('SIGTERM')
    await Promise.all(clients.map((leaving) => leaving.end()))
    await until('those who stay have all that they want', () => capacities(stay).every((each, i) => each >= wants[i]!))
  })

  it('obey another configuration, and no bad one', async () => {
    const { server, config } = fleet
    const one = client(server.address, 'one', 90)
    await until('a lease', () => capacities([one])[0]! >= 90)
    await config.write('resources: []')
    await server.child.said(/an entry for \\"\*\\".*the new configuration is refused/)
    await config.write(fairShareYaml(40, LEASE_SECONDS, 2))
    await until('less', () => capacities([one])[0] === 40)
    expect(await textOf(server.debugUrl)).not.toContain('The configuration is an old one')
  })

  it('go on when the server is another one: it keeps back what they have', async () => {
    const { server, config } = fleet
    const port = server.address.split(':')[1]!
    const clients = [30, 30].map((wants, i) => client(server.address, `client-${i}`, wants))
    await until('leases', () => capacities(clients).every((each) => each >= 30))
    await server.child.stop()
    const successor = await DoormanProcess.start(
      '--config',
      config.path,
      '--port',
      port,
      '--minimum-refresh-interval',
      '1s',
    )
    fleet.server = successor
    await until('both have come back', async () => {
      const metrics = await textOf(`${successor.debugUrl}/metrics`)
      // Holds during the whole test.
      expect(Math.min(...capacities(clients)), 'the least that one has').toBeGreaterThanOrEqual(30)
      return /doorman_server_subclients\{resource="db"\} 2/.test(metrics)
    })
  })
})
