import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  connect,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGate } from '../create-gate.js'
import { ResourceExhaustedError, refuse } from '../index.js'
import { requestQueue } from '../queue/index.js'
import { probeStage } from '../testing/index.js'
import { type FairHandler, fairHandler, fairOf } from './index.js'

// The contract of adapters is tested in its own package.

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Sends a request to a server with this listener; also returns the error that the listener threw, if any. */
async function ask(
  listener: FairHandler<IncomingMessage, ServerResponse>,
): Promise<{ status: number; body: string; thrown: unknown }> {
  let thrown: unknown
  const server = createServer(async (request, response) => {
    try {
      await listener(request, response)
    } catch (error) {
      thrown = error
      response.destroy()
    }
  }).listen(0, '127.0.0.1')
  closers.push(() => void server.close())
  await once(server, 'listening')
  try {
    const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    return { status: reply.status, body: await reply.text(), thrown }
  } catch {
    return { status: 0, body: '', thrown }
  }
}

describe('fairHandler', () => {
  it('lets the handler see its permit by the request', async () => {
    const probe = probeStage()
    const handler = fairHandler((request, response) => response.end(fairOf(request)?.permit?.flow), {
      gate: createGate({ fair: false, stages: [probe] }),
    })
    expect(await ask(handler)).toMatchObject({ status: 200, body: 'ip:127.0.0.1' })
    await vi.waitFor(() => expect(probe.outcomes).toEqual(['success']))
  })

  it.each([
    [
      'throws',
      () => {
        throw new ResourceExhaustedError('full')
      },
    ],
    ['rejects with', () => Promise.reject(new ResourceExhaustedError('full'))],
  ])('answers 503 where the handler %s a ResourceExhaustedError, which is a failure', async (_how, handler) => {
    const probe = probeStage()
    const reply = await ask(fairHandler(handler, { gate: createGate({ fair: false, stages: [probe] }) }))
    expect(reply).toMatchObject({ status: 503, thrown: undefined })
    await vi.waitFor(() => expect(probe.outcomes).toEqual(['failure']))
  })

  it.each(['throws', 'rejects'])('answers 503, too, where one that is skipped %s with it', async (how) => {
    const error = new ResourceExhaustedError('full')
    const handler = (): unknown => {
      if (how === 'throws') throw error
      return Promise.reject(error)
    }
    expect(await ask(fairHandler(handler, { shed: false, skip: () => true }))).toMatchObject({
      status: 503,
      thrown: undefined,
    })
  })

  it('throws every other error on', async () => {
    const bug = new Error('a bug')
    expect(await ask(fairHandler(() => Promise.reject(bug), { shed: false }))).toMatchObject({ status: 0, thrown: bug })
  })

  it('refuses by the handler of the user, with status and headers set', async () => {
    const gate = createGate({
      fair: false,
      stages: [{ name: 'full', admit: () => refuse('full', 'overload', true, 1_000) }],
    })
    const reply = await ask(
      fairHandler(() => {}, { gate, handler: (_request, response, { refusal }) => response.end(refusal.reason) }),
    )
    expect(reply).toMatchObject({ status: 503, body: 'overload' })
  })

  it.each<[object, string]>([
    [{ flwo: () => 'a' }, 'fairHandler has no option "flwo"'],
    [{ flow: 'x-api-key' }, 'flow must be a function, got "x-api-key"'],
  ])('%j is refused', (options, message) => expect(() => fairHandler(() => {}, options)).toThrow(message))

  it('over HTTP/2 begins what has waited outside of the events of other streams', async () => {
    let closing = false
    const begun: boolean[] = []
    const handler = fairHandler<Http2ServerRequest, Http2ServerResponse>(
      (_request, response) => {
        begun.push(closing)
        response.on('close', () => {
          closing = true
          setImmediate(() => {
            closing = false
          })
        })
        response.end()
      },
      { fair: false, shed: false, queue: requestQueue({ concurrency: 1 }) },
    )
    const server = createHttp2Server(handler).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    closers.push(
      () => server.close(),
      () => session.destroy(),
    )
    const streams = Array.from({ length: 4 }, () => session.request().resume())
    await Promise.all(streams.map((stream) => once(stream, 'close')))
    expect(begun).toEqual([false, false, false, false])
    expect(handler.gate.snapshot().stages).toMatchObject({ queue: { startedLater: 3 } })
  })

  it('refuses a value that is no handler', () => {
    expect(() => fairHandler('listener' as never)).toThrow('handler must be a function, got "listener"')
  })
})
