import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import {
  connect,
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { onResponseHead } from './node-admission.js'
import type { Fields } from './refusal.js'

type Response = ServerResponse | Http2ServerResponse

/** The response heads that a handler produces, over HTTP/1.1 and HTTP/2. */
async function headsOf(
  handle: (response: Response) => void,
  fields: (status: number) => Fields | undefined = () => ({ RateLimit: 'ours' }),
): Promise<{ status: number; limit: unknown }[]> {
  const listener = (_request: IncomingMessage | Http2ServerRequest, response: Response): void => {
    onResponseHead(response, fields)
    handle(response)
  }
  return [await headOverHttp1(createServer(listener)), await headOverHttp2(createHttp2Server(listener))]
}

async function headOverHttp1(server: Server): Promise<{ status: number; limit: unknown }> {
  const asked = request({ port: await portOf(server), agent: false }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  server.close()
  return { status: response.statusCode!, limit: response.headers['ratelimit'] }
}

async function headOverHttp2(server: Http2Server): Promise<{ status: number; limit: unknown }> {
  const session = connect(`http://localhost:${await portOf(server)}`)
  const stream = session.request({ ':path': '/' })
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  await once(stream.resume(), 'end')
  session.close()
  server.close()
  return { status: Number(headers[':status']), limit: headers['ratelimit'] }
}

async function portOf(server: Server | Http2Server): Promise<number> {
  await once(server.listen(0, 'localhost'), 'listening')
  return (server.address() as AddressInfo).port
}

function twice(status: number, limit: string | undefined): unknown[] {
  return [
    { status, limit },
    { status, limit },
  ]
}

describe('onResponseHead', () => {
  it.each<[string, (response: Response) => void]>([
    ['ended at once', (response) => response.end('whole')],
    ['written in parts', (response) => (response as ServerResponse).write('part', () => response.end())],
    [
      'flushed before it is written',
      (response) => {
        ;(response as ServerResponse).flushHeaders()
        response.end()
      },
    ],
    ['with a head of its own', (response) => (response as ServerResponse).writeHead(200, { 'x-own': '1' }).end()],
  ])('adds fields to a response %s', async (_what, handle) => {
    expect(await headsOf(handle)).toEqual(twice(200, 'ours'))
  })

  it('adds them after an error handler has taken all away', async () => {
    const handle = (response: Response): void => {
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      response.statusCode = 500
      response.end()
    }
    expect(await headsOf(handle)).toEqual(twice(500, 'ours'))
  })

  it('leaves what is there, and goes to its list', async () => {
    const theirs = (response: Response): void => {
      response.setHeader('RateLimit', 'theirs')
      response.end()
    }
    expect(await headsOf(theirs)).toEqual(twice(200, 'theirs, ours'))
    const both = (response: Response): void => {
      onResponseHead(response, () => ({ RateLimit: 'inner' }))
      response.end()
    }
    expect(await headsOf(both)).toEqual(twice(200, 'inner, ours'))
  })

  it.each<[string, unknown[]]>([
    ['an object', [{ ratelimit: 'theirs' }]],
    ['a message and an object', ['Fine', { RateLimit: 'theirs' }]],
    ['a list', [['x-own', '1', 'RateLimit', 'theirs']]],
    ['a message and a list', ['Fine', ['ratelimit', 'theirs']]],
  ])('goes to the list of a field that is handed to writeHead, in %s', async (_what, head) => {
    const handle = (response: Response): void => {
      response.setHeader('RateLimit', 'replaced')
      Reflect.apply(response.writeHead, response, [200, ...head])
      response.end()
    }
    expect(await headsOf(handle)).toEqual(twice(200, 'theirs, ours'))
  })

  it.each<[string, unknown[]]>([
    ['a list', [['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Vary', 'A', 'Vary', 'B']]],
    [
      'pairs',
      [
        [
          ['Set-Cookie', 'a=1'],
          ['Set-Cookie', 'b=2'],
          ['Vary', 'A'],
          ['Vary', 'B'],
        ],
      ],
    ],
    ['a message and a list', ['Fine', ['Set-Cookie', ['a=1', 'b=2'], 'Vary', 'A', 'Vary', 'B']]],
    ['an object', [{ 'set-cookie': ['a=1', 'b=2'], Vary: ['A', 'B'] }]],
  ])('keeps every header of %s that is handed to writeHead', async (_what, head) => {
    const given = structuredClone(head)
    const server = createServer((_request, response) => {
      onResponseHead(response, () => ({ 'RateLimit-Policy': 'policy', RateLimit: 'ours' }))
      Reflect.apply(response.writeHead, response, [200, ...head])
      response.end()
    })
    const asked = request({ port: await portOf(server), agent: false }).end()
    const [{ headers }] = (await once(asked, 'response')) as [IncomingMessage]
    server.close()
    expect(headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], vary: 'A, B', ratelimit: 'ours' })
    expect(headers['ratelimit-policy']).toBe('policy')
    expect(head).toEqual(given)
  })

  it('asks with the status that is sent, and adds nothing where it gets nothing', async () => {
    const seen: number[] = []
    const redirect = (response: Response): void => {
      ;(response as ServerResponse).writeHead(302).end()
    }
    const fields = (status: number): undefined => {
      seen.push(status)
    }
    expect(await headsOf(redirect, fields)).toEqual(twice(302, undefined))
    expect(seen).toEqual([302, 302])
  })
})
