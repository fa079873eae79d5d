import { RawClient } from './client.js'
import type { Http2Client } from './http2-client.js'
import { turns } from './turns.js'

/** A kind of client: its behaviour from its connection until it leaves. */
export type Kind<Client> = (client: Client, random: () => number) => Promise<void> | void

/** Longest stay of a client after its last data, in turns of the event loop. */
const LONGEST_TURNS = 40
/** More than Node reads of an unread body. */
const UNREAD = 200_000
const RARELY = 0.05
/** More than the buffers of a connection hold. */
const LARGE = '/big/3000000'

/** A path whose handler takes some turns of the event loop until its answer, its end or its failure. */
function anyPath(random: () => number): string {
  const scene = ['turns', 'slow-stream', 'late-throw'][Math.floor(random() * 3)]
  return `/${scene}/${Math.floor(random() * 20)}`
}

function paths(count: number, random: () => number): string[] {
  return Array.from({ length: count }, () => anyPath(random))
}

async function linger(random: () => number): Promise<void> {
  await turns(random() * LONGEST_TURNS)
}

function head(method: string, path: string, ...fields: string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: localhost', ...fields].join('\r\n')}\r\n\r\n`
}

/** HTTP/1.1 clients, and some that only resemble them. Each leaves after some turns, with or without an answer. */
export const KINDS: Readonly<Record<string, Kind<RawClient>>> = {
  'says nothing': () => {},
  'half a head': (client) => client.write('GET /turns/1 HTTP/1.1\r\nHo'),
  'a head byte by byte': async (client, random) => {
    for (const byte of head('GET', anyPath(random))) {
      client.write(byte)
      if (random() < 0.3) await turns(1)
    }
  },
  'no HTTP at all': (client) => client.write('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n'),
  'a head that is too long': (client) => client.write(head('GET', '/turns/1', `X: ${'x'.repeat(20_000)}`)),
  'a request': (client, random) => client.get(anyPath(random)),
  'another request': (client, random) => client.get(anyPath(random)),
  'HTTP/1.0': (client, random) => client.write(`GET ${anyPath(random)} HTTP/1.0\r\n\r\n`),
  'HTTP/1.0, half-closed': (client, random) => {
    client.write(`GET ${anyPath(random)} HTTP/1.0\r\n\r\n`)
    client.halfClose()
  },
  'half-closed behind its request': (client, random) => {
    client.get(anyPath(random))
    client.halfClose()
  },
  'reads all, and asks again': async (client, random) => {
    for (let i = 0; i < 3; i++) {
      client.get(`/turns/${Math.floor(random() * 3)}`)
      await client.received('done')
    }
  },
  'wants the connection closed': async (client) => {
    client.write(head('GET', '/turns/2', 'Connection: close'))
    await client.closed
  },
  HEAD: (client, random) => client.write(head('HEAD', anyPath(random))),
  'five in a packet': (client, random) => client.get(...paths(5, random)),
  'five in a packet each': async (client, random) => {
    for (const path of paths(5, random)) {
      client.get(path)
      await turns(1)
    }
  },
  'large answers behind a stream': (client) => client.get('/slow-stream/10', LARGE, LARGE),
  'an upload behind a stream': (client) => {
    client.get('/slow-stream/10')
    client.post('/turns/5', UNREAD)
  },
  'a whole body': (client, random) => client.post(anyPath(random), 100),
  'half a body': (client, random) => client.write(`${head('POST', anyPath(random), 'Content-Length: 1000')}half`),
  'a body that never comes': (client, random) => client.write(head('POST', anyPath(random), 'Content-Length: 9')),
  'an unread body': (client, random) => client.post(anyPath(random), UNREAD),
  'an unread body, half-closed': (client, random) => {
    client.post(anyPath(random), UNREAD)
    client.halfClose()
  },
  'half a chunk': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Transfer-Encoding: chunked')}ff\r\nhalf`),
  'a chunk that is none': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Transfer-Encoding: chunked')}xyz\r\n`),
  'chunks, and trailers that never end': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Transfer-Encoding: chunked', 'Trailer: X')}1\r\na\r\n0\r\nX: y\r\n`),
  'a length and chunks': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`),
  'an expectation that is not met': (client, random) =>
    client.write(head('POST', anyPath(random), 'Content-Length: 100', 'Expect: nonsense')),
  'an upgrade with half a body': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Connection: Upgrade', 'Upgrade: x', 'Content-Length: 9')}half`),
  'more than its body': (client, random) =>
    client.write(`${head('POST', anyPath(random), 'Content-Length: 4')}more than four`),
  'asks before it sends': (client, random) =>
    client.write(head('POST', anyPath(random), 'Content-Length: 1000', 'Expect: 100-continue')),
  'an upgrade': (client, random) =>
    client.write(head('GET', anyPath(random), 'Connection: Upgrade', 'Upgrade: websocket')),
  'half-closed in the middle of its body': (client, random) => {
    client.write(`${head('POST', anyPath(random), 'Content-Length: 1000')}half`)
    client.halfClose()
  },
  'asks before it sends, and sends half': async (client, random) => {
    client.write(head('POST', anyPath(random), 'Content-Length: 1000', 'Expect: 100-continue'))
    await turns(2)
    client.write('half')
    client.halfClose()
  },
  'chunks, trailers, and another request': (client, random) => {
    client.write(`${head('POST', anyPath(random), 'Transfer-Encoding: chunked')}1\r\na\r\n0\r\nX: y\r\n\r\n`)
    client.get(anyPath(random))
  },
  'unread bodies, one behind the other': (client, random) => {
    for (let i = 0; i < 3; i++) client.post(anyPath(random), UNREAD)
  },
  'another request behind an unread body': (client, random) => {
    client.post(anyPath(random), UNREAD)
    client.get(anyPath(random))
  },
  'an upgrade behind a request': (client, random) => {
    client.get(anyPath(random))
    client.write(`${head('GET', anyPath(random), 'Connection: Upgrade', 'Upgrade: websocket')}\x81\x05hello`)
  },
  'a tunnel behind a stream': (client) => {
    client.get('/slow-stream/10')
    client.write(head('CONNECT', 'localhost:1'))
  },
  'no HTTP behind a stream': (client) => {
    client.get('/slow-stream/10')
    client.write('\x16\x03\x01\x02\x00\r\n\r\n')
  },
  'HTTP/2 where there is none': (client) => client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
  'a tunnel': (client) => client.write(head('CONNECT', 'localhost:1')),
  'reads nothing of a large answer': (client) => {
    client.stopReading()
    client.get(LARGE)
  },
  'reads nothing any more in the middle of a stream': async (client) => {
    client.get('/slow-stream/10')
    await client.received('0,')
    client.stopReading()
  },
  'reads nothing and asks on': (client, random) => {
    client.stopReading()
    client.get(LARGE, ...paths(4, random))
  },
}

/** One connection of a client that leaves after some turns, by a FIN or a reset. */
export async function visit(port: number, kind: Kind<RawClient>, random: () => number): Promise<void> {
  const client = await RawClient.connect(port)
  // Its expected data may never arrive: then it leaves without it.
  const acts = Promise.resolve(kind(client, random)).then(() => linger(random))
  await Promise.race([acts, turns(20 * LONGEST_TURNS), client.closed])
  await client.leave(random() < 0.3 ? 'reset' : 'end')
}

/** Streams of one HTTP/2 connection. Those that have not ended by then die with the connection. */
export const HTTP2_KINDS: Readonly<Record<string, Kind<Http2Client>>> = {
  'reads the answer': async (client) => void (await client.ask('/turns/3').reply),
  'resets at once': async (client, random) => await client.ask(anyPath(random)).reset(),
  'resets after a while': async (client, random) => {
    const stream = client.ask(anyPath(random))
    await linger(random)
    await stream.reset()
  },
  'leaves with its connection': (client, random) => void client.ask(anyPath(random)),
  'half a body': (client, random) => void client.upload(anyPath(random), 'half'),
  'half a body, reset': async (client, random) => {
    const stream = client.upload(anyPath(random), 'half')
    await linger(random)
    await stream.reset()
  },
  'a whole body': (client, random) => void client.ask(anyPath(random), { method: 'POST', body: 'x'.repeat(100) }),
  'an unread body': (client, random) => void client.upload(anyPath(random), 'x'.repeat(UNREAD)),
  'less than the length that it says': (client, random) =>
    void client.ask(anyPath(random), { method: 'POST', headers: { 'content-length': '100' }, body: 'short' }),
  'asks before it sends': (client, random) =>
    void client.ask(anyPath(random), { method: 'POST', headers: { expect: '100-continue' }, body: 'late' }),
  'a large answer that it does not read': (client) => void client.ask(LARGE),
  HEAD: async (client, random) => void (await client.ask(anyPath(random), { method: 'HEAD' }).reply),
  // Frames about the whole connection affect all its streams, so only a few connections send them.
  'says goodbye behind its request': async (client, random) => {
    const stream = client.ask(anyPath(random))
    if (random() < RARELY) client.sayGoodbye('done')
    await stream.reply
  },
  'closes its window': async (client, random) => {
    const stream = client.ask(anyPath(random))
    if (random() < RARELY) client.closeWindow()
    await stream.reply
  },
  'a tunnel': async (client) => void (await client.tunnel().reply),
}
