import { readFile } from 'node:fs/promises'
import { get } from 'node:https'
import { json } from 'node:stream/consumers'
import { DoormanClient, inProcess, overHttp } from '@fairlead/core/doorman'
import { until } from '@fairlead-testing/waiting'
import { credentials } from '@grpc/grpc-js'
import { afterEach, describe, expect, it } from 'vitest'
import { fairShare } from './fixtures/repository.js'
import { overGrpc } from './grpc/transport.js'
import type { DoormanOptions } from './options.js'
import { type Doorman, startDoorman } from './start-doorman.js'

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function start(options: Partial<DoormanOptions> = {}): Promise<Doorman> {
  const here = { host: '127.0.0.1', hostname: '127.0.0.1' }
  const doorman = await startDoorman({ config: fairShare(), fresh: true, ...here, ...options })
  ends.push(() => doorman.close())
  return doorman
}

const request = { clientId: 'c', resource: [{ resourceId: 'db', priority: 0, wants: 9 }] }

describe('startDoorman', () => {
  it('keeps back what an earlier run may have granted, and grants what of it comes back', async () => {
    const { server } = await start({ fresh: false })
    const ask = (clientId: string, capacity?: number): number | undefined => {
      const expiryTime = Math.ceil(Date.now() / 1_000) + 30
      const has = capacity === undefined ? {} : { has: { expiryTime, refreshInterval: 5, capacity } }
      const resource = [{ resourceId: 'db', priority: 0, wants: 9, ...has }]
      return server.getCapacity({ clientId, resource }).response[0]?.gets.capacity
    }
    expect(ask('new')).toBe(0)
    // The returned capacity is divided between two clients with equal wants.
    expect(ask('old', 9)).toBe(4.5)
  })

  it('serves over gRPC, over HTTP where it is told to, and in the process, the same resources', async () => {
    const doorman = await start({ httpPort: 0 })
    const transports = [
      overGrpc({ address: doorman.address }),
      overHttp({ url: doorman.httpUrl! }),
      inProcess(doorman.server),
    ]
    for (const [i, transport] of transports.entries()) {
      const client = new DoormanClient({ transport, id: `client-${i}` })
      ends.push(() => client.close())
      const lease = client.gauge('db', { wants: 10 })
      await until('a lease', () => lease.capacity >= 10)
    }
    const { children } = doorman.server.snapshot().resources[0]!
    expect(children.map(({ id }) => id).toSorted()).toEqual(['client-0', 'client-1', 'client-2'])
  })

  it('gives out the name that it was told, with the port that it got', async () => {
    const doorman = await start({ hostname: 'doorman-1.example' })
    expect(doorman.address).toMatch(/^doorman-1\.example:\d+$/)
    expect(doorman.httpUrl).toBeUndefined()
    expect(doorman.debugUrl).toBeUndefined()
    expect(doorman.server.discovery()).toEqual({ mastership: { masterAddress: doorman.address }, isMaster: true })
  })

  it('serves with TLS', async () => {
    const [cert, key] = await Promise.all(
      ['cert', 'key'].map((name) => readFile(new URL(`./fixtures/${name}.pem`, import.meta.url))),
    )
    // By name: a TLS server name cannot be an address, and newer versions of Node say so.
    const doorman = await start({ tls: { cert: cert!, key: key! }, httpPort: 0, hostname: 'localhost' })
    const trusting = overGrpc({ address: doorman.address, credentials: credentials.createSsl(cert) })
    ends.push(() => trusting.close())
    expect(await trusting.connect().discovery({})).toMatchObject({ isMaster: true })
    const plain = overGrpc({ address: doorman.address })
    ends.push(() => plain.close())
    await expect(plain.connect().discovery({})).rejects.toMatchObject({ code: 'unavailable' })
    expect(doorman.httpUrl).toMatch(/^https:/)
    const answer = await new Promise((resolve, reject) => {
      get(`${doorman.httpUrl}/`, { ca: cert }, (response) => json(response).then(resolve, reject)).on('error', reject)
    })
    expect(answer).toMatchObject({ code: 'unimplemented' })
  })

  it('answers all calls until it is closed, and none afterwards; closing twice is no error', async () => {
    const doorman = await start({ httpPort: 0, debugPort: 0 })
    const { address, httpUrl, debugUrl } = doorman
    await Promise.all([doorman.close(), doorman.close()])
    const transport = overGrpc({ address })
    ends.push(() => transport.close())
    await expect(transport.connect().discovery({})).rejects.toMatchObject({ code: 'unavailable' })
    for (const url of [httpUrl!, debugUrl!]) await expect(fetch(url)).rejects.toThrow()
  })

  it('leaves nothing running when it cannot start', async () => {
    const { httpUrl } = await start({ httpPort: 0 })
    const taken = Number(new URL(httpUrl!).port)
    const first = await start()
    const port = Number(first.address.split(':')[1])
    await first.close()
    await expect(start({ port, debugPort: taken })).rejects.toThrow('EADDRINUSE')
    await expect(start({ port: taken })).rejects.toThrow(/EADDRINUSE|bind/)
    // The port that it used is free again.
    await start({ port })
  })

  it('does not answer a child that asks again too soon, as it is told', async () => {
    const patient = await start({ minimumRefreshMs: 0 })
    const strict = await start()
    for (const [{ server }, answers] of [
      [patient, 1],
      [strict, 0],
    ] as const) {
      expect(server.getCapacity(request).response).toHaveLength(1)
      expect(server.getCapacity(request).response).toHaveLength(answers)
    }
  })

  it.each<[string, Partial<Record<keyof DoormanOptions | 'parrent', unknown>>, string]>([
    ['an unknown one', { parrent: 'a:1' }, 'doorman has no option "parrent"'],
    ['a port', { port: 70_000 }, 'port must be an integer from 0 to 65535, got 70000'],
    ['another port', { httpPort: -1 }, 'httpPort must be an integer from 0 to 65535, got -1'],
    ['a lock without etcd', { masterElectionLock: 'l' }, 'etcdEndpoints must be given for an election'],
    ['a key without etcd', { config: 'etcd:k' }, 'etcdEndpoints must be given for a configuration in etcd'],
    ['an endpoint', { etcdEndpoints: ['somewhere'] }, 'etcdEndpoints must be URLs like http://host:2379'],
    ['a delay', { masterDelaySeconds: 1 }, 'masterDelaySeconds must be an integer >= 2, got 1'],
    ['an interval', { minimumRefreshMs: -1 }, 'minimumRefreshMs must be a number >= 0, got -1'],
    ['a configuration', { config: { resources: [] } }, 'must contain an entry for "*"'],
    ['a parent', { parent: 'nowhere' }, 'address must be host:port, got "nowhere"'],
    ['an empty parent', { parent: '' }, 'parent must be a non-empty string, got ""'],
    ['a parent of null', { parent: null }, 'parent must be addresses, URLs or a transport, got null'],
    ['a parent of 5', { parent: 5 }, 'parent must be addresses, URLs or a transport, got 5'],
    ['a parent that is a list', { parent: [] }, 'parent must be addresses, URLs or a transport, got an array'],
    ['a parent that cannot connect', { parent: {} }, 'parent must be addresses, URLs or a transport, got an object'],
    ['TLS without a certificate', { tls: {} }, 'tls.cert must be a non-empty string, got undefined'],
    ['TLS without a key', { tls: { cert: 'PEM' } }, 'tls.key must be a non-empty string, got undefined'],
    ['an empty authority', { parentTls: { ca: '' } }, 'parentTls.ca must be a non-empty string, got ""'],
    ['a password that is none', { etcdSecrets: { username: 'a', password: 5 } }, 'etcdSecrets.password must be'],
    ['an empty configuration', { config: {} }, 'resources must be a list, got undefined'],
    ['a logger', { log: {} }, 'log.info must be a function'],
  ])('refuses %s', async (_, options, message) => {
    const given: object = options
    await expect(start(given)).rejects.toThrow(message)
  })
})
