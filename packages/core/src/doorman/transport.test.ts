import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { CAPACITY_JSON, CapacityError, DoormanClient, type GetCapacityRequest, overHttp } from './index.js'

type Reply = (path: string, body: unknown, request: IncomingMessage) => { status?: number; text: string } | undefined

const servers: Server[] = []

/** A real server that answers with `reply`, or never if `reply` returns undefined. */
async function serve(reply: Reply): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString() || 'null')
      const answer = reply(`${request.method} ${request.url}`, body, request)
      if (answer === undefined) return
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(answer.text)
    })
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

const request: GetCapacityRequest = { clientId: 'c', resource: [{ resourceId: 'r', priority: 0, wants: 2 }] }

function granting(capacity: number): Reply {
  return (path, body) => {
    if (path !== 'POST /doorman.Capacity/GetCapacity') return { text: '{}' }
    const { resource } = CAPACITY_JSON.getCapacity.request.read(body)
    const expiryTime = Math.floor(Date.now() / 1_000) + 60
    const response = resource.map(({ resourceId }) => ({
      resourceId,
      gets: { expiryTime, refreshInterval: 16, capacity },
    }))
    return { text: JSON.stringify(CAPACITY_JSON.getCapacity.response.write({ response })) }
  }
}

describe('the transport over HTTP', () => {
  it('posts JSON to the name of each call, with the headers it was given', async () => {
    const seen: unknown[] = []
    const { url } = await serve((path, body, { headers }) => {
      seen.push([path, body, headers['content-type'], headers.authorization])
      return { text: path.endsWith('Discovery') ? '{"mastership":{"masterAddress":"m:1"},"isMaster":true}' : '{}' }
    })
    const service = overHttp({ url: `${url}/api/`, headers: { authorization: 'Bearer x' } }).connect()
    expect(await service.discovery({})).toEqual({ mastership: { masterAddress: 'm:1' }, isMaster: true })
    expect(await service.getCapacity(request)).toEqual({ response: [] })
    expect(await service.getServerCapacity({ serverId: 's', resource: [] })).toEqual({ response: [] })
    expect(await service.releaseCapacity({ clientId: 'c', resourceId: ['r'] })).toEqual({})
    const end = ['application/json', 'Bearer x']
    const resource = [{ resourceId: 'r', priority: '0', wants: 2 }]
    expect(seen).toEqual([
      ['POST /api/doorman.Capacity/Discovery', {}, ...end],
      ['POST /api/doorman.Capacity/GetCapacity', { clientId: 'c', resource }, ...end],
      ['POST /api/doorman.Capacity/GetServerCapacity', { serverId: 's', resource: [] }, ...end],
      ['POST /api/doorman.Capacity/ReleaseCapacity', { clientId: 'c', resourceId: ['r'] }, ...end],
    ])
  })

  it.each([
    [400, '{"code":"invalid_argument","message":"wants must be >= 0"}', 'invalid_argument', 'wants must be >= 0'],
    [503, '<html>busy</html>', 'unavailable', '503 from'],
    [404, '', 'unavailable', '404 from'],
    [502, '{"code":"nonsense"}', 'unavailable', '502 from'],
    [501, '[]', 'unimplemented', '501 from'],
    [200, '<html>', 'internal', 'a bad answer from'],
    [200, '{"response":[{"resourceId":"r"}]}', 'internal', 'response[0].gets must be an object'],
    [200, 'null', 'internal', 'the message must be an object'],
  ])('takes %d with %s for %s', async (status, text, code, message) => {
    const { url } = await serve(() => ({ status, text }))
    const failed = overHttp({ url }).connect().getCapacity(request)
    await expect(failed).rejects.toBeInstanceOf(CapacityError)
    await expect(failed).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('has no answer without a listener, nor from a broken connection', async () => {
    const { url, server } = await serve((_path, _body, request) => {
      request.socket.destroy()
      return undefined
    })
    await expect(overHttp({ url }).connect().getCapacity(request)).rejects.toMatchObject({ code: 'unavailable' })
    server.close()
    await once(server, 'close')
    servers.length = 0
    await expect(overHttp({ url }).connect().getCapacity(request)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('hangs up when the answer is no longer needed', async () => {
    let asked = (): void => {}
    const arrived = new Promise<void>((resolve) => {
      asked = resolve
    })
    let closed: Promise<unknown> | undefined
    const { url } = await serve((_path, _body, { socket }) => {
      closed = once(socket, 'close')
      asked()
      return undefined
    })
    const controller = new AbortController()
    const failed = expect(overHttp({ url }).connect().getCapacity(request, controller.signal)).rejects.toMatchObject({
      code: 'unavailable',
    })
    await arrived
    controller.abort()
    await failed
    await closed
  })

  it('tries several servers in turn', async () => {
    const good = await serve(granting(3))
    const bad = await serve(() => ({ status: 503, text: '' }))
    const transport = overHttp({ url: [bad.url, good.url] })
    await expect(transport.connect().getCapacity(request)).rejects.toThrow()
    expect((await transport.connect().getCapacity(request)).response[0]!.gets.capacity).toBe(3)
    await expect(transport.connect().getCapacity(request)).rejects.toThrow()
  })

  it('goes to a master by its address, with the same scheme, or as it is told', async () => {
    const { url } = await serve(granting(3))
    const address = url.slice('http://'.length)
    for (const transport of [
      overHttp({ url: 'http://nowhere.invalid' }),
      overHttp({ url: 'https://nowhere.invalid', urlOf: (name) => `http://${name}` }),
    ])
      expect((await transport.connect(address).getCapacity(request)).response[0]!.gets.capacity).toBe(3)
    expect((await overHttp({ url: 'http://x' }).connect(url).getCapacity(request)).response.length).toBe(1)
    expect(() => overHttp({ url: 'http://x', urlOf: () => 'ftp://y' }).connect('z')).toThrow('url must begin with http')
  })

  it('serves a whole client', async () => {
    const paths: string[] = []
    const grant = granting(4)
    const master = await serve((path, body, request) => {
      paths.push(path)
      return grant(path, body, request)
    })
    const { url } = await serve(() => ({
      text: JSON.stringify({ mastership: { masterAddress: master.url.slice('http://'.length) } }),
    }))
    const client = new DoormanClient({ transport: overHttp({ url }), id: 'c' })
    const gauge = client.gauge('r', { wants: 4 })
    {
      using slot = await gauge.take()
      expect([slot, gauge.capacity, gauge.inFlight]).toEqual([expect.anything(), 4, 1])
    }
    await client.close()
    expect(paths).toEqual(['POST /doorman.Capacity/GetCapacity', 'POST /doorman.Capacity/ReleaseCapacity'])
  })

  it.each([
    [{}, 'url must be a non-empty string, got undefined'],
    [{ url: [] }, 'url must be a URL or several, got an empty array'],
    [{ url: 'localhost:80' }, 'url must begin with http:// or https:// and a host, got "localhost:80"'],
    [{ url: 'http://' }, 'url must begin with'],
    [{ url: ['http://a', 'x'] }, 'url must begin with'],
    [{ url: 'http://a', fetch: 1 }, 'fetch must be a function, got 1'],
    [{ url: 'http://a', headers: 'x' }, 'headers must be an object, got "x"'],
    [{ url: 'http://a', urlOf: 1 }, 'urlOf must be a function, got 1'],
    [{ url: 'http://a', timeout: 1 }, 'http has no option "timeout"'],
  ])('refuses %o', (options, message) => {
    const wrong: object = options
    expect(() => overHttp(wrong as Parameters<typeof overHttp>[0])).toThrow(message)
  })
})
