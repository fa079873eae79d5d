import { connect as connectHttp2, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { CapacityError, type CapacityService, DoormanClient } from '@fairlead/core/doorman'
import { attempt, until } from '@fairlead-testing/waiting'
import { Client, credentials, status } from '@grpc/grpc-js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { WRITTEN } from '../fixtures/bytes.js'
import { CutProxy } from '../fixtures/cut-proxy.js'
import { type GrpcPort, type GrpcSettings, serveGrpc } from './server.js'
import { fleetOverGrpc, type GrpcTransport, overGrpc } from './transport.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const lease = { expiryTime: 4_102_444_800, refreshInterval: 8, capacity: 7 }

/** Grants 7 of everything, unless a method is overridden. */
function service(parts: Partial<CapacityService> = {}): CapacityService {
  return {
    discovery: () => ({ mastership: { masterAddress: 'me:1' }, isMaster: true }),
    getCapacity: ({ resource }) => ({ response: resource.map(({ resourceId }) => ({ resourceId, gets: lease })) }),
    getServerCapacity: ({ resource }) => ({
      response: resource.map(({ resourceId }) => ({ resourceId, gets: lease, target: 3 })),
    }),
    releaseCapacity: () => ({}),
    ...parts,
  }
}

function settings(
  parts: Partial<CapacityService>,
  port: number,
  report: GrpcSettings['report'] = () => ({}),
): GrpcSettings {
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  return {
    service: () => service(parts),
    report,
    host: '127.0.0.1',
    port,
    tls: undefined,
    maxRequestBytes: 262_144,
    log,
  }
}

async function serve(parts: Partial<CapacityService> = {}): Promise<GrpcPort> {
  const port = await serveGrpc(settings(parts, 0))
  ends.push(() => port.close(0))
  return port
}

function transportTo(...ports: number[]): GrpcTransport {
  const transport = overGrpc({ address: ports.map((port) => `127.0.0.1:${port}`) })
  ends.push(() => transport.close())
  return transport
}

const request = { clientId: 'c', resource: [{ resourceId: 'db', priority: 0, wants: 9 }] }

describe('the service over gRPC', () => {
  it('has all four calls', async () => {
    const { port } = await serve()
    const node = transportTo(port).connect()
    expect(await node.discovery({})).toEqual({ mastership: { masterAddress: 'me:1' }, isMaster: true })
    expect(await node.getCapacity(request)).toEqual({ response: [{ resourceId: 'db', gets: lease }] })
    const upward = {
      serverId: 's',
      resource: [{ resourceId: 'db', wants: [{ priority: 0, numClients: 1, wants: 1 }] }],
    }
    expect(await node.getServerCapacity(upward)).toEqual({ response: [{ resourceId: 'db', gets: lease, target: 3 }] })
    expect(await node.releaseCapacity({ clientId: 'c', resourceId: ['db'] })).toEqual({})
  })

  it('tells a refusal by its code, now or later, and what is our own fault as internal', async () => {
    const { port } = await serve({
      discovery: () => {
        throw new Error('broken')
      },
      getCapacity: () => {
        throw new CapacityError('invalid_argument', 'wants must be a number >= 0, got -1')
      },
      releaseCapacity: () => Promise.reject(new CapacityError('unavailable', 'not now')),
    })
    const node = transportTo(port).connect()
    await expect(node.getCapacity(request)).rejects.toMatchObject({
      name: 'CapacityError',
      code: 'invalid_argument',
      message: expect.stringContaining('wants must be a number >= 0, got -1'),
    })
    await expect(node.releaseCapacity({ clientId: 'c', resourceId: [] })).rejects.toMatchObject({ code: 'unavailable' })
    await expect(node.discovery({})).rejects.toMatchObject({ code: 'internal' })
  })

  it('refuses bytes that are not the message', async () => {
    const { port } = await serve()
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    ends.push(() => client.close())
    const code = await new Promise((resolve) => {
      const raw = (value: Buffer): Buffer => value
      client.makeUnaryRequest('/doorman.Capacity/GetCapacity', raw, raw, WRITTEN.withoutPriority, (error) =>
        resolve(error?.code),
      )
    })
    expect(code).toBe(status.INVALID_ARGUMENT)
  })

  it('answers what is under way before it closes, and nothing afterwards', async () => {
    let answer: (() => void) | undefined
    const { port, close } = await serve({
      releaseCapacity: () =>
        new Promise((resolve) => {
          answer = () => resolve({})
        }),
    })
    const transport = transportTo(port)
    const underWay = transport.connect().releaseCapacity({ clientId: 'c', resourceId: [] })
    await until('the call arrives', () => answer !== undefined)
    const closed = close(60_000)
    answer!()
    expect(await underWay).toEqual({})
    await closed
    await expect(transport.connect().discovery({})).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('does not wait for longer than the grace', async () => {
    let arrived = false
    const { port, close } = await serve({
      releaseCapacity: () => {
        arrived = true
        return new Promise(() => {})
      },
    })
    const underWay = transportTo(port).connect().releaseCapacity({ clientId: 'c', resourceId: [] })
    await until('the call arrives', () => arrived)
    await Promise.all([close(50), expect(underWay).rejects.toBeInstanceOf(CapacityError)])
  })
})

describe('overGrpc', () => {
  it('tries the next address in turn, and goes where it is told', async () => {
    const asked: string[] = []
    const named = (name: string) => ({ mastership: { masterAddress: name }, isMaster: false })
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) =>
        serve({
          discovery: () => {
            asked.push(name)
            return named(name)
          },
        }),
      ),
    )
    const transport = transportTo(a!.port, b!.port)
    for (let i = 0; i < 3; i++) await transport.connect().discovery({})
    await transport.connect(`127.0.0.1:${b!.port}`).discovery({})
    expect(asked).toEqual(['a', 'b', 'a', 'b'])
  })

  it('takes a client from a server that is not the master to the one that is', async () => {
    const master = await serve()
    const other = await serve({
      getCapacity: () => ({ response: [], mastership: { masterAddress: `127.0.0.1:${master.port}` } }),
    })
    const client = new DoormanClient({ transport: transportTo(other.port) })
    ends.push(() => client.close())
    const lease = client.gauge('db', { wants: 9 })
    await until('a lease', () => lease.capacity === 7)
    expect(client.snapshot().master).toBe(`127.0.0.1:${master.port}`)
  })

  it('gives up a call, and the connection that gave no answer, when the signal fires', async () => {
    const { port } = await serve()
    const network = await CutProxy.to(port)
    ends.push(() => network.close())
    const transport = transportTo(network.port)
    await transport.connect().discovery({})
    network.cut()
    const [connection] = network.sockets
    const controller = new AbortController()
    const call = transport.connect().discovery({}, controller.signal)
    controller.abort()
    await expect(call).rejects.toBeInstanceOf(CapacityError)
    await expect(transport.connect().discovery({}, AbortSignal.abort())).rejects.toBeInstanceOf(CapacityError)
    // The network does not report the cut until it is mended; by then there is another connection.
    network.mend()
    await until('an answer', () => attempt(transport.connect().discovery({})))
    await until('the end of the old connection', () => connection!.destroyed)
    expect(network.sockets.size).toBe(1)
  })

  it('reaches a server again that was gone', async () => {
    const { port, close } = await serve()
    const transport = transportTo(port)
    await transport.connect().discovery({})
    await close(0)
    await expect(transport.connect().discovery({})).rejects.toMatchObject({ code: 'unavailable' })
    const again = await serveGrpc(settings({}, port))
    ends.push(() => again.close(0))
    await until('an answer', () => attempt(transport.connect().discovery({})))
  })

  it('refuses options by their names', () => {
    expect(() => overGrpc({ address: 'nowhere' })).toThrow('address must be host:port, got "nowhere"')
    expect(() => overGrpc({ address: [] })).toThrow('address must be host:port or several, got an empty array')
    const misspelt: object = { address: 'a:1', adress: 'b:1' }
    expect(() => overGrpc(misspelt as { address: string })).toThrow('grpc has no option "adress"')
  })

  it('does not wait for a request that never comes whole', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    ends.push(() => vi.useRealTimers())
    const { port } = await serve()
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    ends.push(() => session.destroy())
    const stream = session.request({
      ':method': 'POST',
      ':path': '/doorman.Capacity/Discovery',
      'content-type': 'application/grpc',
    })
    const closed = new Promise<number | undefined>((resolve) => {
      stream.on('error', () => {})
      stream.on('close', () => resolve(stream.rstCode))
    })
    stream.write(Buffer.alloc(3))
    if (session.connecting) await new Promise((resolve) => session.once('connect', resolve))
    // All data sent before has arrived when the ping is answered.
    await new Promise((resolve) => session.ping(resolve))
    vi.advanceTimersByTime(30_000)
    expect(await closed).toBe(constants.NGHTTP2_CANCEL)
  })

  it('closes a connection on which no call was begun, and none on which one was', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    ends.push(() => vi.useRealTimers())
    const { port } = await serve()
    const silent = connectTcp(port, '127.0.0.1')
    ends.push(() => silent.destroy())
    const closed = new Promise((resolve) =>
      silent
        .resume()
        .on('error', () => {})
        .on('close', resolve),
    )
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    ends.push(() => session.destroy())
    const ask = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/doorman.Capacity/Discovery',
          'content-type': 'application/grpc',
        })
        stream.on('response', resolve).on('error', reject).resume().end(Buffer.alloc(5))
      })
    await ask()
    // The server has accepted both: the second was answered, and the first came before it.
    vi.advanceTimersByTime(15_000)
    vi.advanceTimersByTime(15_000)
    await closed
    vi.advanceTimersByTime(300_000)
    await ask()
  })
})

describe('reports of a shared clock over gRPC', () => {
  it('go to the master, with their token, once another server has named it', async () => {
    const serveClock = async (report: GrpcSettings['report']): Promise<string> => {
      const server = await serveGrpc(settings({}, 0, report))
      ends.push(() => server.close(0))
      return `127.0.0.1:${server.port}`
    }
    const heard: unknown[] = []
    const master = await serveClock(({ authorization }, report) => {
      heard.push([authorization, report])
      return Promise.resolve({ lease: 'a lease', waitedMs: 2.5 })
    })
    const other = await serveClock(() => ({ mastership: { masterAddress: master } }))
    const fleet = fleetOverGrpc({ address: other, token: 'secret' })
    ends.push(() => fleet.close())
    const leases: unknown[] = []
    const send = fleet.join('orders', (lease, waitedMs) => leases.push([lease, waitedMs]))
    await until('a lease of the master', () => {
      send('a report', 'm')
      return leases.length > 0
    })
    expect(leases[0]).toEqual(['a lease', 2.5])
    expect(heard[0]).toEqual(['Bearer secret', { name: 'orders', report: 'a report' }])
  })

  it('that cannot be read are answered with their fault', async () => {
    const { port } = await serve()
    const wire = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    ends.push(() => wire.close())
    const failed = await new Promise((done) =>
      wire.makeUnaryRequest(
        '/doorman.Clock/Report',
        (bytes: Buffer) => bytes,
        String,
        Buffer.from([8, 1]),
        (error) => done(error?.code),
      ),
    )
    expect(failed).toBe(status.INVALID_ARGUMENT)
  })
})
