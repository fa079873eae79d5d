import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Server } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { refuseBody } from './node-admission.js'

/** A few times the size of Node's single read: the most that this process ever reads of a refused body. */
const MOST_READ = 8 * 65_536

/** Floods from a separate thread, so that the server alone decides how much is read; `head` is written first. */
const FLOOD = `
const { workerData: { port, head } } = require('node:worker_threads')
const socket = require('node:net').connect(port, '127.0.0.1', () => {
  socket.write(head)
  const more = () => { while (!socket.destroyed && socket.write(Buffer.alloc(65536, 'b'))) {} }
  socket.on('drain', more).on('error', () => {}).resume()
  more()
})`

let server: Server | Http2Server | undefined

afterEach(() => {
  server?.close()
})

async function portOf(one: Server | Http2Server): Promise<number> {
  server = one
  one.listen(0, '127.0.0.1')
  await once(one, 'listening')
  return (one.address() as AddressInfo).port
}

describe('a refused upload without end', () => {
  it.each([
    ['of a length that it says', 'Content-Length: 1000000000\r\n\r\n'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n3b9aca00\r\n'],
  ])('%s: is read no further once it is answered', async (_what, fields) => {
    const refusing = createServer((request, response) => {
      refuseBody(request, response)
      response.writeHead(429).end('no')
    })
    const port = await portOf(refusing)
    const worker = new Worker(FLOOD, {
      eval: true,
      workerData: { port, head: `POST / HTTP/1.1\r\nHost: a\r\n${fields}` },
    })
    try {
      const [socket] = (await once(refusing, 'connection')) as [Socket]
      await once(socket, 'close')
      expect(socket.bytesRead).toBeLessThan(MOST_READ)
    } finally {
      await worker.terminate()
    }
  })

  it('gives its client time to read the answer', async () => {
    const port = await portOf(
      createServer((request, response) => {
        refuseBody(request, response)
        response.writeHead(429).end('no')
      }),
    )
    const client = connect(port, '127.0.0.1')
    let answer = ''
    client.setEncoding('latin1').on('error', () => {})
    client.on('data', (text: string) => {
      answer += text
    })
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\nb')
    await once(client, 'close')
    expect(answer).toMatch(/^HTTP\/1\.1 429 .*connection: close.*no\r\n/is)
  })

  it('over HTTP/2: its stream is reset, and the connection goes on', async () => {
    const refusing = createHttp2Server((request, response) => {
      refuseBody(request, response)
      response.writeHead(429).end('no')
    })
    const port = await portOf(refusing)
    const connected = once(refusing, 'connection') as Promise<[Socket]>
    const client = connectHttp2(`http://127.0.0.1:${port}`)
    const [socket] = await connected
    for (let i = 0; i < 3; i++) {
      const upload = client.request({ ':method': 'POST', ':path': '/' })
      const more = (): void => {
        if (!upload.closed && !upload.destroyed) upload.write(Buffer.alloc(65_536, 'b'), more)
      }
      more()
      upload.on('error', () => {}).resume()
      const [headers] = (await once(upload, 'response')) as [Record<string, unknown>]
      expect(headers[':status']).toBe(429)
      if (!upload.closed) await once(upload, 'close')
    }
    expect(socket.bytesRead).toBeLessThan(3 * MOST_READ)
    const closed = once(client, 'close')
    client.close()
    await closed
  })
})
