import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { overHttp } from '@fairlead/core/doorman'
import { until } from '@fairlead-testing/waiting'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ConfigFile, DoormanProcess, fairShareYaml } from './fixtures/doorman-process.js'
import { TestProcess } from './fixtures/test-process.js'
import { textOf } from './fixtures/text-of.js'
import { WIRE } from './grpc/wire.js'

const RUNS = Number(process.env['FAIRLEAD_PROPERTY_RUNS'] ?? (process.env['FAIRLEAD_WIDE'] === undefined ? 50 : 150))

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A server, and what ends it. */
async function started(...args: string[]): Promise<[DoormanProcess, () => Promise<void>]> {
  const config = await ConfigFile.with(fairShareYaml(100, 60, 5))
  const server = await DoormanProcess.start('--fresh', '--config', config.path, ...args)
  return [server, async () => void (await Promise.all([server.child.stop(), config.remove()]))]
}

/** A server of one test. */
async function serve(...args: string[]): Promise<DoormanProcess> {
  const [server, end] = await started(...args)
  ends.push(end)
  return server
}

/** Small pseudo-random numbers, reproducible by seed. */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Sends bytes, and resolves with the reply once the other side has ended or sent something. */
function send(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    socket.setTimeout(200, () => socket.destroy())
    socket.end(bytes)
  })
}

const portOf = (url: string): number => Number(new URL(url).port)

const TARGETS = [
  '//',
  'http://[',
  '/%',
  '/%ff?resource=%ff',
  '*',
  '/?resource=%',
  '\\',
  '/../..//',
  'http://x:99999/',
  '/?resource=',
]
const IDS = [
  'db',
  '',
  'x'.repeat(300),
  '-'.repeat(250),
  '\ud800',
  'a\u0000b',
  '__proto__',
  '<script>',
  'ü💧',
  '*',
  '../..',
]
const NUMBERS = [1, 0, -1, 1e308, -1e308, 'NaN', 'Infinity', '9223372036854775807', null, 'x', {}, [], 0.5]

/** A request from a malicious sender that knows the protocol. */
function message(pick: (below: number) => number): object {
  const one = <T>(from: readonly T[]): T => from[pick(from.length)]!
  const lease = (): object => ({ expiryTime: one(NUMBERS), refreshInterval: one(NUMBERS), capacity: one(NUMBERS) })
  const resource = (): object => ({
    resourceId: one(IDS),
    priority: one(NUMBERS),
    wants: one(NUMBERS),
    ...(pick(2) ? { has: lease() } : {}),
    ...(pick(2) ? { weight: one(NUMBERS), inUse: one(NUMBERS), waiting: one(NUMBERS) } : {}),
  })
  return {
    clientId: one(IDS),
    serverId: one(IDS),
    ...(pick(3) ? {} : { instance: one(IDS) }),
    resource: Array.from({ length: one([1, 1, 2, 30, 1_500]) }, resource),
    ...(pick(3) ? {} : { resourceId: [one(IDS), one(IDS)] }),
  }
}

function bytes(pick: (below: number) => number): Buffer {
  const valid = WIRE.getCapacity.request.encode({
    clientId: 'c',
    resource: [{ resourceId: 'db', priority: 0, wants: 1 }],
  })
  if (pick(3) === 0) return Buffer.from(Array.from({ length: pick(200) }, () => pick(256)))
  const broken = Buffer.from(valid)
  for (let i = pick(4); i >= 0; i--) broken[pick(broken.length)] = pick(256)
  return pick(4) === 0 ? broken.subarray(0, pick(broken.length)) : broken
}

/** One call over a connection of its own, with these bytes as its message; the gRPC status, if there is one. */
function grpcCall(address: string, method: string, body: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://${address}`)
    let status: string | undefined
    const done = (): void => {
      session.destroy()
      resolve(status)
    }
    session.on('error', done)
    const headers = { ':method': 'POST', ':path': `/doorman.Capacity/${method}`, 'content-type': 'application/grpc' }
    const stream = session.request({ ...headers, te: 'trailers' })
    stream.on('response', (head) => {
      if (typeof head['grpc-status'] === 'string') status = head['grpc-status']
    })
    stream.on('trailers', (trailers) => {
      status = String(trailers['grpc-status'])
    })
    stream.on('error', () => {})
    stream.on('close', done)
    stream.resume()
    stream.end(body)
  })
}

function framed(body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

/** The process is alive and serves, and has logged no uncaught errors. */
async function expectWell(server: DoormanProcess): Promise<void> {
  const node = overHttp({ url: server.httpUrl }).connect()
  const resource = [{ resourceId: 'well', priority: 0, wants: 1 }]
  const { response } = await node.getCapacity({ clientId: `friend-${Math.random()}`, resource })
  expect(response).toHaveLength(1)
  expect(await textOf(server.debugUrl)).toContain('Doorman')
  expect(server.child.ended).toBe(false)
  expect(server.child.output).not.toContain('nobody caught')
}

describe('a server that anybody can reach', () => {
  /** One server outlives all that harms none of its figures. */
  let server: DoormanProcess
  let end = async (): Promise<void> => {}
  beforeAll(async () => {
    ;[server, end] = await started()
  })
  afterAll(() => end())

  it('answers whatever stands in the first line of a request with an error, on both HTTP ports', async () => {
    for (const url of [server.debugUrl, server.httpUrl])
      for (const target of TARGETS)
        for (const method of ['GET', 'POST', 'X'])
          await send(portOf(url), `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    const answer = await send(portOf(server.debugUrl), 'GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    await expectWell(server)
  })

  it('shows resources of any name that it has taken', async () => {
    const node = overHttp({ url: server.httpUrl }).connect()
    for (const resourceId of IDS) {
      const asked = Promise.resolve(
        node.getCapacity({ clientId: 'c', resource: [{ resourceId, priority: 0, wants: 1 }] }),
      )
      await asked.catch((error: unknown) => expect(error).toMatchObject({ code: 'invalid_argument' }))
    }
    expect(await textOf(server.debugUrl)).toContain('&#60;script&#62;')
    expect(await textOf(`${server.debugUrl}/metrics`)).toContain('doorman_server_wants{resource="__proto__"} 1')
    await expectWell(server)
  })

  it(`outlives bytes, JSON, frames and lines of chance on every port`, { timeout: 60_000 + RUNS * 200 }, async () => {
    const methods = ['GetCapacity', 'GetServerCapacity', 'ReleaseCapacity', 'Discovery', 'Other']
    const ports = [server.httpUrl, server.debugUrl, `http://${server.address}`].map(portOf)
    for (let seed = 1; seed <= RUNS; seed++) {
      const pick = chance(seed)
      const method = methods[pick(methods.length)]!
      const body = JSON.stringify(message(pick))
      const posted = await fetch(`${server.httpUrl}/doorman.Capacity/${method}`, {
        method: 'POST',
        body: pick(5) === 0 ? body.slice(0, pick(body.length)) : body,
      })
      expect(posted.status, `JSON of seed ${seed}`).toBeLessThan(500)
      await posted.arrayBuffer()
      const raw = bytes(pick)
      const status = await grpcCall(server.address, method, pick(4) ? framed(raw) : raw)
      // Statuses 2, 13 and 14 would mean that the server has failed.
      if (status !== undefined) expect(['0', '1', '3', '5', '8', '12', '13'], `seed ${seed}`).toContain(status)
      const line = Buffer.from(Array.from({ length: 1 + pick(80) }, () => pick(256)))
      if (seed % 5 === 0) await Promise.all(ports.map((port) => send(port, line)))
    }
    await expectWell(server)
  })

  it('goes on when an error is caught by nobody, and says so', async () => {
    const config = await ConfigFile.with(fairShareYaml(100, 60, 5))
    ends.push(() => config.remove())
    const main = new URL('../dist/cli/main.js', import.meta.url).href
    const fault = "process.stdin.on('data', () => setTimeout(() => { throw new Error('a fault') }))"
    const program = `process.argv.splice(1, 0, 'doorman'); ${fault}; await import(${JSON.stringify(main)})`
    const args = ['serve', '--fresh', '--config', config.path, '--debug-port', '0', '--hostname', '127.0.0.1']
    const child = new TestProcess(process.execPath, ['--input-type=module', '-e', program, ...args])
    ends.push(() => child.stop())
    const [, line] = await child.said(/^(\{.*"msg":"serving"\})$/m)
    const { debugUrl } = JSON.parse(line!) as { debugUrl: string }
    child.write('now')
    await child.said(/a fault.*an error that nobody caught/)
    expect(await textOf(debugUrl)).toContain('Doorman')
    expect(child.ended).toBe(false)
  })

  it('outlives calls that are reset as soon as they have begun', async () => {
    const session = connectHttp2(`http://${server.address}`)
    session.on('error', () => {})
    for (let i = 0; i < 2_000 && !session.destroyed; i++) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/doorman.Capacity/GetCapacity',
        'content-type': 'application/grpc',
      })
      stream.on('error', () => {})
      stream.close()
    }
    session.destroy()
    await expectWell(server)
  })

  it('has limits, which can be set, and says which one was met', async () => {
    const server = await serve('--limits', 'resources=3,idLength=20', '--max-request-bytes', '2000')
    const node = overHttp({ url: server.httpUrl }).connect()
    const ask = (...ids: string[]) =>
      node.getCapacity({ clientId: 'c', resource: ids.map((resourceId) => ({ resourceId, priority: 0, wants: 1 })) })
    expect((await ask('a', 'b', 'c', 'd')).response).toHaveLength(3)
    await expect(ask('e')).rejects.toMatchObject({
      code: 'resource_exhausted',
      message: expect.stringContaining('resources: 3'),
    })
    await expect(ask('x'.repeat(21))).rejects.toThrow('resource_id must be at most 20 characters')
    await expect(ask(...Array.from({ length: 60 }, (_, i) => `${i}`))).rejects.toThrow('at most 2000 bytes')
    await server.child.said(/"limit":"resources: 3".*client was refused/)
    expect(await textOf(`${server.debugUrl}/metrics`)).toContain('doorman_server_notices{kind="full"} 2')
  })

  it('logs names that nothing matches, and counts them', async () => {
    const server = await serve()
    const node = overHttp({ url: server.httpUrl }).connect()
    for (let i = 0; i < 3; i++)
      await node.getCapacity({ clientId: 'c', resource: [{ resourceId: `db/${i}`, priority: 0, wants: 1 }] })
    await server.child.said(/"resourceId":"db\/0".*no template matches/)
    expect(await textOf(`${server.debugUrl}/metrics`)).toContain('doorman_server_notices{kind="unmatched"} 3')
    await until('one line', () => (server.child.output.match(/no template matches/g) ?? []).length === 1)
  })
})
