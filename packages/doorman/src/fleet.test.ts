import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Child } from './fixtures/child.js'
import { ConfigFile, DoormanProcess, fairShareYaml } from './fixtures/doorman-process.js'
import { eventually } from './fixtures/eventually.js'

const CLIENT = fileURLToPath(new URL('./fixtures/client-process.mjs', import.meta.url))

/** So long that no lease ends while a server is started anew. */
const LEASE_SECONDS = 60

interface Fleet {
  server: DoormanProcess
  config: ConfigFile
}

let fleet: Fleet
const children: Child[] = []

beforeEach(async () => {
  const config = await ConfigFile.with(fairShareYaml(100, LEASE_SECONDS, 2))
  const server = await DoormanProcess.start('--fresh', '--config', config.path, '--minimum-refresh-interval', '1s')
  fleet = { config, server }
})

afterEach(async () => {
  await Promise.all([fleet.server.child, ...children.splice(0)].map((child) => child.stop()))
  await fleet.config.remove()
})

function client(server: string, id: string, wants: number): Child {
  const child = new Child(process.execPath, [CLIENT, server, id, String(wants)])
  children.push(child)
  return child
}

/** What each says that it may use. */
function capacities(clients: readonly Child[]): number[] {
  return clients.map(({ output }) => {
    const last = output.trimEnd().split('\n').at(-1) ?? '{}'
    return (JSON.parse(last) as { capacity?: number }).capacity ?? 0
  })
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

describe('one server and many client processes', () => {
  it('share a resource by max-min, over gRPC and HTTP alike, and never have more than there is', async () => {
    const { address, httpUrl } = fleet.server
    const wants = [5, 10, 15, 40, 60, 80, 100, 100]
    const clients = wants.map((each, i) => client(i % 2 === 0 ? address : httpUrl, `client-${i}`, each))
    // Filled from below: 5, 10 and 15 get all that they want, the other five 14 each.
    const fair = [5, 10, 14.1667, 14.1667, 14.1667, 14.1667, 14.1667, 14.1667]
    await eventually('everybody has the fair share', () => {
      const has = capacities(clients)
      expect(sum(has)).toBeLessThanOrEqual(100 + 1e-6)
      return has.every((each, i) => Math.abs(each - fair[i]!) < 0.01)
    })
    // Half of them leave, and give back what they had.
    for (const leaving of clients.slice(4)) leaving.kill('SIGTERM')
    await Promise.all(clients.slice(4).map((leaving) => leaving.end()))
    const stay = clients.slice(0, 4)
    await eventually('those who stay have all that they want', () =>
      capacities(stay).every((each, i) => each >= wants[i]!),
    )
    expect(sum(capacities(stay))).toBeLessThanOrEqual(100 + 1e-6)
  })

  it('obey another configuration, and no bad one', async () => {
    const { server, config } = fleet
    const one = client(server.address, 'one', 90)
    await eventually('a lease', () => capacities([one])[0]! >= 90)
    await config.write('resources: []')
    await server.child.said(/an entry for \\"\*\\".*the new configuration is refused/)
    await config.write(fairShareYaml(40, LEASE_SECONDS, 2))
    await eventually('less', () => capacities([one])[0] === 40)
    expect(await (await fetch(server.debugUrl)).text()).not.toContain('The configuration is an old one')
  })

  it('go on when the server is another one: it keeps back what they have', async () => {
    const { server, config } = fleet
    const port = server.address.split(':')[1]!
    const clients = [30, 30].map((wants, i) => client(server.address, `client-${i}`, wants))
    await eventually('leases', () => capacities(clients).every((each) => each >= 30))
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
    await eventually('both have come back', async () => {
      const metrics = await (await fetch(`${successor.debugUrl}/metrics`)).text()
      return /doorman_server_subclients\{resource="db"\} 2/.test(metrics)
    })
    expect(capacities(clients).every((each) => each >= 30)).toBe(true)
  })
})
