import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as connectHttp2, createServer as createServer2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { onResponseEnd, ResponseWatch } from './response-end.js'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** The ends reported so far, and a way to wait for a number of them. */
class Ends {
  readonly heard: boolean[] = []
  #wake: () => void = () => {}

  listener(): { responseEnded(aborted: boolean): void } {
    return {
      responseEnded: (aborted) => {
        this.heard.push(aborted)
        this.#wake()
      },
    }
  }

  async reach(count: number): Promise<readonly boolean[]> {
    while (this.heard.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    return this.heard
  }
}

async function serve(handler: Handler): Promise<{ ends: Ends; client(): Promise<Socket> }> {
  const ends = new Ends()
  const server = createServer((request, response) => {
    onResponseEnd(request, response, ends.listener())
    handler(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    ends,
    async client() {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await once(socket, 'connect')
      return socket
    },
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

describe('the end of a response', () => {
  it.each<[string, string, Handler]>([
    ['a whole answer', GET, (_, response) => response.end('done')],
    ['HEAD', 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n', (_, response) => response.end('done')],
    ['204', GET, (_, response) => response.writeHead(204).end()],
    ['304', GET, (_, response) => response.writeHead(304).end()],
    ['404', GET, (_, response) => response.writeHead(404).end('no')],
    ['a redirect', GET, (_, response) => response.writeHead(302, { Location: '/' }).end()],
    [
      'early hints, then an answer',
      GET,
      (_, response) => response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => response.end('done')),
    ],
    [
      'an Upgrade header without a listener',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      (_, response) => response.end('done'),
    ],
    ['Connection: close', 'GET / HTTP/1.0\r\n\r\n', (_, response) => response.end('done')],
    [
      'an answer to an unread body',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody',
      (_, response) => response.end('done'),
    ],
  ])('%s: ended', async (_, request, handler) => {
    const { ends, client } = await serve(handler)
    const socket = await client()
    socket.write(request)
    expect(await ends.reach(1)).toEqual([false])
    socket.destroy()
  })

  it.each<[string, string, Handler]>([
    ['the handler never answers', GET, () => {}],
    ['half an answer', GET, (_, response) => response.write('half')],
    [
      'the handler answers all the same',
      GET,
      (request, response) => request.socket.once('close', () => response.end('nobody reads this')),
    ],
    ['the body was read', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody', (request) => request.resume()],
    ['the body was not read', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody', () => {}],
    ['the body never came', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb', (request) => request.resume()],
  ])('a client that leaves, %s: aborted', async (_, request, handler) => {
    let arrived = (): void => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { ends, client } = await serve((incoming, response) => {
      handler(incoming, response)
      arrived()
    })
    const socket = await client()
    socket.write(request)
    await arrival
    socket.destroy()
    expect(await ends.reach(1)).toEqual([true])
  })

  it('a client that says it will send no more, while the handler works: aborted, as Node hangs up on it', async () => {
    const { ends, client } = await serve(() => {})
    const socket = await client()
    socket.end(GET)
    expect(await ends.reach(1)).toEqual([true])
  })

  it('a parser that answers a broken upload as a bad request: aborted', async () => {
    const { ends, client } = await serve((request, response) => {
      request.on('aborted', () => response.writeHead(400).end())
      request.resume()
    })
    const socket = await client()
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nb', () => socket.destroy())
    expect(await ends.reach(1)).toEqual([true])
  })

  it('a large answer that the client resets without reading it: aborted, as far as Node can tell', async () => {
    const { ends, client } = await serve((request, response) => {
      request.resume().on('end', () => response.end(Buffer.alloc(30_000_000)))
    })
    const socket = await client()
    socket.pause()
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody')
    await once(socket, 'readable')
    socket.resetAndDestroy()
    // Before Node 24, data handed to the kernel counts as sent.
    expect(await ends.reach(1)).toEqual([Number(process.versions.node.split('.')[0]) >= 24])
  })

  it.each<[string, Handler]>([
    ['response.destroy()', (_, response) => response.write('half', () => response.destroy())],
    ['request.destroy()', (request) => request.destroy()],
    ['its timeout', (_, response) => response.setTimeout(1)],
  ])('the server cuts it off by %s: aborted', async (_, handler) => {
    const { ends, client } = await serve(handler)
    const socket = await client()
    socket.write(GET)
    expect(await ends.reach(1)).toEqual([true])
  })

  it('hears each of many requests on one connection', async () => {
    const { ends, client } = await serve((_, response) => response.end('done'))
    const socket = await client()
    for (let i = 1; i <= 50; i++) {
      socket.write(GET)
      await once(socket, 'data')
      await ends.reach(i)
    }
    socket.destroy()
    await once(socket, 'close')
    expect(ends.heard).toEqual(new Array(50).fill(false))
  })

  it('pipelined requests, when their connection dies: each aborted, once', async () => {
    let arrived = 0
    let all = (): void => {}
    const arrival = new Promise<void>((resolve) => {
      all = resolve
    })
    const { ends, client } = await serve((_, response) => {
      if (++arrived === 10) all()
      // All but the first have been answered, into a queue that will never drain.
      if (arrived > 1) response.end('done')
    })
    const socket = await client()
    socket.write(GET.repeat(10))
    await arrival
    socket.destroy()
    expect(await ends.reach(10)).toEqual(new Array(10).fill(true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(ends.heard).toHaveLength(10)
  })

  it('tells at once if it is over already, however it ended', async () => {
    const late = new Ends()
    const { client } = await serve((request, response) => {
      response.once('close', () => setImmediate(() => onResponseEnd(request, response, late.listener())))
      if (request.url === '/') response.end('done')
    })
    const socket = await client()
    socket.write(GET)
    expect(await late.reach(1)).toEqual([false])
    socket.write(GET.replace('/', '/never'), () => socket.destroy())
    expect(await late.reach(2)).toEqual([false, true])
  })

  it.each([
    [101, 101],
    [102, 0],
  ])('of %d pipelined requests, all but one of which wait for their turn: %d are answered', async (sent, answered) => {
    const responses: ServerResponse[] = []
    const { client, ends } = await serve((request, response) => {
      // A second gate, which sees a request only when its turn has come.
      if (responses.push(response) === 1) onResponseEnd(request, response, new Ends().listener())
      if (responses.length === sent) for (const each of responses) each.end('done')
    })
    const socket = await client()
    socket.resume()
    socket.write(GET.repeat(sent))
    expect((await ends.reach(sent)).filter((aborted) => !aborted)).toHaveLength(answered)
  })

  it('tells at once of a pipelined request that is asked about when its connection is dead', async () => {
    const late = new Ends()
    const { client } = await serve((request, response) => {
      if (request.url !== '/second') return
      request.socket.once('close', () => setImmediate(() => onResponseEnd(request, response, late.listener())))
      socket.destroy()
    })
    const socket = await client()
    socket.write(GET + GET.replace('/', '/second'))
    expect(await late.reach(1)).toEqual([true])
  })

  it('keeps nothing of a response that has ended, even if the response is kept', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const connection = Object.assign(new EventEmitter(), { destroyed: false })
    const response = Object.assign(new EventEmitter(), { writableFinished: true })
    const begin = (): WeakRef<object> => {
      const listener = new Ends().listener()
      onResponseEnd({ socket: connection, aborted: false } as never, response as never, listener)
      return new WeakRef(listener)
    }
    const listener = begin()
    response.emit('close')
    // A reference that was just made is held until the turn has ended.
    for (let i = 0; i < 10 && listener.deref() !== undefined; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect()
    }
    expect(listener.deref()).toBeUndefined()
    expect(response.listenerCount('close') + connection.listenerCount('close')).toBe(2)
  })

  it('puts one listener on a socket, however many requests it carries', async () => {
    const counts = new Set<number>()
    const { ends, client } = await serve((request, response) => {
      counts.add(request.socket.listenerCount('close'))
      response.end('done')
    })
    const socket = await client()
    socket.write(GET.repeat(30))
    await ends.reach(30)
    // Node's own listeners come and go with the response; ours must not accumulate.
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThan(3)
    socket.destroy()
  })

  it('HTTP/2: ended, and a stream reset: aborted', async () => {
    const ends = new Ends()
    const server = createServer2((request, response) => {
      const { path } = { path: request.url }
      // The compatibility classes have the members that we use.
      onResponseEnd(request as never, response as never, ends.listener())
      if (path === '/') response.end('done')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    cleanups.push(() => {
      session.destroy()
      server.close()
    })
    session.request({ ':path': '/' }).resume()
    expect(await ends.reach(1)).toEqual([false])
    const stream = session.request({ ':path': '/never' })
    stream.on('error', () => {})
    session.ping(() => stream.close(8))
    expect(await ends.reach(2)).toEqual([false, true])
  })

  it('HTTP/2: a HEAD that was piped, whose response never says that it has closed: ended, and so is the pipe', async () => {
    const ends = new Ends()
    let piped: Promise<unknown> | undefined
    const server = createServer2((request, response) => {
      onResponseEnd(request as never, response as never, ends.listener())
      piped = pipeline(Readable.from(['one,', 'two']), response).catch((error: unknown) => error)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    cleanups.push(() => {
      session.destroy()
      server.close()
    })
    session.request({ ':path': '/', ':method': 'HEAD' }).resume()
    expect(await ends.reach(1)).toEqual([false])
    await piped
  })

  it('HTTP/2: a stream that Node forgets to close: aborted at the second sweep, and its response says so', () => {
    const ends = new Ends()
    const watch = new ResponseWatch(
      () => 0,
      () => () => {},
    )
    const stream = { closed: true, session: { destroyed: false, socket: new EventEmitter() } }
    const socket = Object.assign(new EventEmitter(), { destroyed: false })
    const response = Object.assign(new EventEmitter(), { writableFinished: false })
    let told = 0
    response.on('close', () => told++)
    watch.watch({ socket, aborted: false, stream } as never, response as never, ends.listener())
    watch.sweep()
    expect([ends.heard, told]).toEqual([[], 0])
    watch.sweep()
    watch.sweep()
    socket.emit('close')
    expect([ends.heard, told]).toEqual([[true], 1])
  })

  it('HTTP/2: streams that say nothing when their connection dies, as on Node 20: aborted, each once', () => {
    const ends = new Ends()
    const connection = Object.assign(new EventEmitter(), { destroyed: false })
    const session = { destroyed: false, socket: connection }
    for (let i = 0; i < 20; i++) {
      const socket = Object.assign(new EventEmitter(), { destroyed: false })
      const response = Object.assign(new EventEmitter(), { writableFinished: false })
      onResponseEnd({ socket, aborted: false, stream: { session } } as never, response as never, ends.listener())
    }
    expect(connection.listenerCount('close')).toBe(1)
    connection.emit('close')
    connection.emit('close')
    expect(ends.heard).toEqual(new Array(20).fill(true))
  })
})
