import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { text } from 'node:stream/consumers'
import { type CapacityService, overHttp } from '@fairlead/core/doorman'
import { afterEach, describe, expect, it } from 'vitest'
import { Access, type AccessRule } from './access.js'
import { fairShare } from './fixtures/repository.js'
import { overGrpc } from './grpc/transport.js'
import type { DoormanOptions } from './options.js'
import { type Doorman, startDoorman } from './start-doorman.js'
import { grpcClientCredentials } from './tls.js'

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

async function start(options: Partial<DoormanOptions>): Promise<Doorman> {
  const doorman = await startDoorman({
    ...{ config: fairShare(100), fresh: true, hostname: 'localhost', httpPort: 0, debugPort: 0, minimumRefreshMs: 0 },
    ...options,
  })
  ends.push(() => doorman.close())
  return doorman
}

const pem = (name: string): Buffer => readFileSync(new URL(`./fixtures/${name}.pem`, import.meta.url))
const [cert, key, clientCert, clientKey] = ['cert', 'key', 'client-cert', 'client-key'].map(pem)
const MUTUAL = { cert: cert!, key: key!, clientCa: clientCert! }
const WEB = 'a-token-of-the-web'
const BATCH = 'a-token-of-the-batch'
const RULES: AccessRule[] = [
  { name: 'web', token: WEB, resources: ['db'], highestPriority: 1, pages: true },
  { name: 'batch', token: BATCH, servers: ['/doorman/eu'] },
]

function grpc(address: string, token?: string, tls?: Parameters<typeof grpcClientCredentials>[0]): CapacityService {
  const transport = overGrpc({ address, credentials: grpcClientCredentials(tls), ...(token ? { token } : {}) })
  ends.push(() => transport.close())
  return transport.connect()
}

function http(url: string, token?: string): CapacityService {
  return overHttp({ url, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } }).connect()
}

async function ask(node: CapacityService, clientId: string, wants: number, resourceId = 'db', priority = 0) {
  return (await node.getCapacity({ clientId, resource: [{ resourceId, priority, wants }] })).response[0]?.gets.capacity
}

describe('who may call', () => {
  it.each(['gRPC', 'HTTP'])('is decided by a token, over %s', async (over) => {
    const { address, httpUrl } = await start({ access: RULES })
    const node = (token?: string): CapacityService => (over === 'gRPC' ? grpc(address, token) : http(httpUrl!, token))
    for (const token of [undefined, 'a-token-of-a-stranger'])
      await expect(ask(node(token), 'c', 1)).rejects.toMatchObject({ code: 'unauthenticated' })
    const web = node(WEB)
    expect(await ask(web, 'c', 10, 'db', 1)).toBe(11)
    await expect(ask(web, 'c', 10, 'other')).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('web may not ask for "other"'),
    })
    await expect(ask(web, 'c', 10, 'db', 2)).rejects.toThrow('web may not ask with priority 2')
    await expect(web.getServerCapacity({ serverId: '/doorman/eu', resource: [] })).rejects.toThrow(
      'web may not speak for',
    )
    const batch = node(BATCH)
    expect(await ask(batch, 'c', 10, 'other')).toBe(11)
    expect(await batch.getServerCapacity({ serverId: '/doorman/eu', resource: [] })).toEqual({ response: [] })
    await expect(batch.getServerCapacity({ serverId: 'root', resource: [] })).rejects.toThrow('batch may not speak for')
  })

  it('gives back only its own, for any id', async () => {
    const { address } = await start({ access: RULES })
    const [web, batch] = [grpc(address, WEB), grpc(address, BATCH)]
    expect(await ask(web, 'c', 100)).toBe(100)
    await batch.releaseCapacity({ clientId: 'c', resourceId: ['db'] })
    await batch.releaseCapacity({ clientId: 'web/c', resourceId: ['db'] })
    expect(await ask(batch, 'd', 100)).toBe(0)
    await web.releaseCapacity({ clientId: 'c', resourceId: ['db'] })
    expect(await ask(batch, 'd', 100)).toBe(100)
  })

  it('sees the pages only where that is allowed; probes need nothing', async () => {
    const { debugUrl } = await start({ access: RULES })
    const status = async (path: string, token?: string): Promise<number> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return (await fetch(debugUrl + path, { headers })).status
    }
    expect([await status('/'), await status('/', BATCH), await status('/', WEB)]).toEqual([401, 403, 200])
    expect([await status('/metrics'), await status('/metrics', WEB)]).toEqual([401, 200])
    expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 200])
  })

  it('is decided by a certificate, on every port', async () => {
    const access = [{ name: 'web', certificate: 'web-*.example', resources: ['db'], pages: true }]
    const { address, httpUrl, debugUrl } = await start({ access, tls: MUTUAL })
    const own = { ca: cert!, cert: clientCert!, key: clientKey! }
    expect(await ask(grpc(address, undefined, own), 'c', 10)).toBe(11)
    await expect(ask(grpc(address, undefined, own), 'c', 10, 'other')).rejects.toMatchObject({
      code: 'permission_denied',
    })
    await expect(ask(grpc(address, undefined, { ca: cert! }), 'c', 10)).rejects.toMatchObject({ code: 'unavailable' })
    const fetched = (url: string, tls: object): Promise<number | string> =>
      new Promise((resolve) => {
        get(url, { ca: cert, ...tls }, (response) => {
          void text(response).then(() => resolve(response.statusCode!))
        }).on('error', (error) => resolve(error.name))
      })
    const shown = { cert: clientCert, key: clientKey }
    expect(await fetched(`${httpUrl}/`, shown)).toBe(404)
    expect(await fetched(`${httpUrl}/`, {})).toBe('Error')
    expect([await fetched(debugUrl!, shown), await fetched(debugUrl!, {})]).toEqual([200, 401])
    expect(await fetched(`${debugUrl}/readyz`, {})).toBe(200)
  })

  it.each(['gRPC', 'https'])('may be a server of the tree below, which shows its certificate over %s', async (over) => {
    const access = [{ name: 'nodes', certificate: '*.example', servers: ['*'] }]
    const root = await start({ access, tls: MUTUAL })
    const parentTls = { ca: cert!, cert: clientCert!, key: clientKey! }
    const parent = over === 'gRPC' ? root.address : root.httpUrl!
    const stranger = await start({ parent, parentTls: { ca: cert! } })
    const child = await start({ parent, parentTls })
    const node = http(child.httpUrl!)
    let capacity: number | undefined = 0
    for (let i = 0; i < 300 && !capacity; i++) {
      capacity = await ask(node, `c${i}`, 10)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    expect(capacity).toBeGreaterThan(0)
    expect(await ask(http(stranger.httpUrl!), 'c', 10)).toBe(0)
  })

  it('shows no certificate where none is looked at', async () => {
    const wrong = start({ parent: 'https://localhost:1,http://localhost:2', parentTls: { ca: cert! } })
    await expect(wrong).rejects.toThrow('servers must have https:// URLs where certificates are given')
  })

  it.each<[string, object, string]>([
    ['a rule of no name', { token: WEB }, 'name of a rule of access'],
    ['a short token', { name: 'a', token: 'short' }, 'token of the rule "a" must have at least 16 characters'],
    ['a rule without credentials', { name: 'a' }, 'the rule "a" must have a token or a certificate'],
    ['an unknown field', { name: 'a', token: WEB, resource: [] }, 'a rule of access has no option "resource"'],
    ['a bad glob', { name: 'a', token: WEB, resources: ['['] }, 'syntax error in pattern "["'],
    ['a certificate without an authority', { name: 'a', certificate: '*' }, 'tls.clientCa must be given'],
    ['resources that were left empty', { name: 'a', token: WEB, resources: null }, 'resources of the rule "a" must be'],
    [
      'resources as a text',
      { name: 'a', token: WEB, resources: '' },
      'resources of the rule "a" must be a list, got ""',
    ],
  ])('refuses %s', async (_, rule, message) => {
    await expect(start({ access: [rule as AccessRule] })).rejects.toThrow(message)
  })

  it.each<[unknown, string]>([
    [[], 'access must have a rule, got an empty list'],
    [null, 'access must be a list, got null'],
    [{}, 'access must be a list, got an object'],
    [[null], 'a rule of access must be an object, got null'],
    [[RULES[0], RULES[0]], 'access must not have two rules'],
    [[RULES[0], { ...RULES[0], name: 'again' }], 'access must not have two rules with one token'],
    [new Array(1), 'a rule of access must be an object, got undefined'],
  ])('starts no server that admits everybody by mistake: %j', async (access, message) => {
    await expect(start({ access: access as AccessRule[] })).rejects.toThrow(message)
  })

  it('is nobody if there are no rules in the list', () => {
    const access = new Access([RULES[0]!], {} as CapacityService)
    const stranger = { authorization: undefined, names: [] }
    for (const call of [
      () => access.serviceFor(stranger),
      () => access.requirePages(stranger),
      () => access.requireResource(stranger, 'db'),
    ])
      expect(call).toThrow('a known token or certificate is needed')
    expect(() => new Access([], {} as CapacityService)).toThrow('access must have a rule')
  })
})

describe('pages of other origins', () => {
  it('may call where they are named', async () => {
    const { httpUrl } = await start({ corsOrigins: ['https://app.example'] })
    const url = `${httpUrl}/doorman.Capacity/Discovery`
    const from = (origin: string, method: string) =>
      fetch(url, { method, headers: { origin }, ...(method === 'POST' ? { body: '{}' } : {}) })
    const preflight = await from('https://app.example', 'OPTIONS')
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('content-type')
    const answer = await from('https://app.example', 'POST')
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example')
    const other = await from('https://evil.example', 'POST')
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    expect((await from('https://evil.example', 'OPTIONS')).status).toBe(405)
  })
})

describe('ports', () => {
  it('are found under the address that they listen on, where that is all there is', async () => {
    const doorman = await startDoorman({ config: fairShare(100), fresh: true })
    ends.push(() => doorman.close())
    expect(doorman.address).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(await ask(grpc(doorman.address), 'c', 10)).toBe(11)
  })

  it('are this machine’s alone unless it is told otherwise', async () => {
    const { address, httpUrl, debugUrl } = await start({})
    const ports = [address, new URL(httpUrl!).host, new URL(debugUrl!).host].map((each) => each.split(':')[1]!)
    // Another address of the same machine: a server that listened on all addresses would answer there.
    for (const port of ports) await expect(fetch(`http://127.0.0.2:${port}/`)).rejects.toThrow('fetch failed')
  })
})
