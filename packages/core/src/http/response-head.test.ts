import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { exchange } from '../testing/contract/client.js'
import { Http2Client } from '../testing/contract/http2-client.js'
import { listen } from '../testing/contract/listen.js'
import type { Fields } from './rate-limit-fields.js'
import { onResponseHead } from './response-head.js'

type Response = ServerResponse | Http2ServerResponse

/** The heads that a handler leaves, over HTTP/1.1 and HTTP/2. */
async function headsOf(
  handle: (response: Response) => void,
  fields: (status: number) => Fields | undefined = () => ({ RateLimit: 'ours' }),
): Promise<{ status: number; limit: unknown }[]> {
  const listener = (_request: IncomingMessage | Http2ServerRequest, response: Response): void => {
    onResponseHead(response, fields)
    handle(response)
  }
  const one = await listen(createServer(listener))
  const two = await listen(createHttp2Server(listener))
  const client = await Http2Client.connect(two.port)
  try {
    const replies = [await exchange(one.port, '/', {}), await client.ask('/').reply]
    return replies.map(({ status, headers }) => ({ status, limit: headers['ratelimit'] }))
  } finally {
    await client.leave()
    await Promise.all([one.close(), two.close()])
  }
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
