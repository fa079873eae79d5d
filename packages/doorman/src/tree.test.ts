import { DoormanClient, type GaugeLease } from '@fairlead/core/doorman'
import { until } from '@fairlead-testing/waiting'
import { afterEach, describe, expect, it } from 'vitest'
import { ConfigFile, DoormanProcess, fairShareYaml } from './fixtures/doorman-process.js'
import { textOf } from './fixtures/text-of.js'
import { overGrpc } from './grpc/transport.js'

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function serve(...args: string[]): Promise<DoormanProcess> {
  const server = await DoormanProcess.start('--fresh', '--minimum-refresh-interval', '1s', ...args)
  ends.push(() => server.child.stop())
  return server
}

async function configured(text: string): Promise<string> {
  const file = await ConfigFile.with(text)
  ends.push(() => file.remove())
  return file.path
}

function leaseAt({ address }: DoormanProcess, id: string, wants: number): GaugeLease {
  const transport = overGrpc({ address })
  const client = new DoormanClient({ transport, id, mode: 'pessimistic', minimumRefreshMs: 500, deadlineMs: 2_000 })
  ends.push(() => transport.close())
  ends.push(() => client.close())
  return client.gauge('db', { wants })
}

/** A child's own configuration applies to its first lease; after that, its parent's does. */
const CHILD = fairShareYaml(0, 8, 2)

/** A child's parent is asked over gRPC in the other test. */
const over = process.env['FAIRLEAD_WIDE'] === undefined ? (['HTTP'] as const) : (['HTTP', 'gRPC'] as const)

describe.each(over)('a tree of servers over %s', (protocol) => {
  const placeOf = ({ address, httpUrl }: DoormanProcess): string => (protocol === 'HTTP' ? httpUrl : address)

  it('shares what the root has among the clients below', async () => {
    const root = await serve('--config', await configured(fairShareYaml(100, 30, 2)))
    const config = await configured(CHILD)
    const [left, right] = await Promise.all([1, 2].map(() => serve('--config', config, '--parent', placeOf(root))))
    const leases = [leaseAt(left!, 'a', 60), leaseAt(left!, 'b', 60), leaseAt(right!, 'c', 60)]
    await until('a third for everybody', () => {
      const has = leases.map(({ capacity }) => capacity)
      expect(has[0]! + has[1]! + has[2]!, `what [${has.join(', ')}] have in all`).toBeLessThanOrEqual(100 + 1e-6)
      return has.every((each) => Math.abs(each - 100 / 3) < 1)
    })
  })
})

describe('a child whose parent dies', () => {
  it('grants nothing beyond its own lease, says why, and comes back with the parent', async () => {
    const config = await configured(fairShareYaml(100, 8, 2))
    const parent = await serve('--config', config)
    const child = await serve('--config', await configured(CHILD), '--parent', parent.address)
    const lease = leaseAt(child, 'a', 60)
    const page = (): Promise<string> => textOf(child.debugUrl)
    await until('a lease', () => lease.capacity >= 60)
    const shortages: number[] = []
    lease.onChange((capacity) => capacity < 60 && shortages.push(capacity))
    await parent.child.stop()
    await until('the end of the lease', () => lease.capacity === 0)
    // Until the parent's lease ended the capacity did not fall.
    expect(shortages).toEqual([0])
    await until('the reason', async () => (await page()).includes('The parent does not answer'))
    await serve('--config', config, '--port', parent.address.split(':')[1]!)
    await until('a lease again', () => lease.capacity >= 60)
    await until('all is well', async () => !(await page()).includes('does not answer'))
  })
})
