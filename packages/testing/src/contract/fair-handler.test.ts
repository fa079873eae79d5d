import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { pipeline, Readable } from 'node:stream'
import { type FairHandler, fairHandler, fairOf } from '@fairlead/core/node'
import { describe, it } from 'vitest'
import { type AdapterHarness, type AppSetup, adapterContract, type HandlerAnswer, listen } from './index.js'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown
type Target = [request: IncomingMessage, response: ServerResponse]

const harness: AdapterHarness<Target> = {
  crowd: Number(process.env['FAIRLEAD_CROWD'] ?? 100),
  seesHandlers: 'always',
  header: ([request], name) => request.headers[name]?.toString(),
  start: (setup) => listen(createServer(listenerOf(setup))),
  // The members of requests and responses used here are the same over HTTP/2.
  startHttp2: (setup) => listen(createHttp2Server(listenerOf(setup) as never)),
}

function listenerOf({ middleware, play }: AppSetup<Target>): Handler {
  const handler: Handler = (request, response) => {
    const answer = play(request.url ?? '', fairOf(request))
    return answer instanceof Promise ? answer.then((late) => give(late, response)) : give(answer, response)
  }
  const behindAll = middleware.reduceRight<Handler | FairHandler<IncomingMessage, ServerResponse>>(
    (inner, options) => fairHandler(inner, options),
    handler,
  )
  // A plain server leaves it to its author to answer errors of the handler.
  return async (request, response) => {
    try {
      await behindAll(request, response)
    } catch (error) {
      const { statusCode = 500 } = error as { statusCode?: number }
      if (!response.headersSent) response.writeHead(statusCode).end()
    }
  }
}

function give(answer: HandlerAnswer, response: ServerResponse): void {
  switch (answer.kind) {
    case 'send':
      response.writeHead(answer.status).end(answer.status === 304 ? undefined : answer.body)
      break
    case 'http-error':
      throw Object.assign(new Error('an HTTP error'), { statusCode: answer.status })
    case 'stream':
      pipeline(Readable.from(answer.chunks), response, () => {})
      break
    case 'twice':
      response.on('error', () => {}).end(answer.body)
      response.end(answer.body)
      break
  }
}

describe('adapter contract, node:http and node:http2', () => {
  for (const { name, run, timeoutMs } of adapterContract(harness)) it.concurrent(name, run, timeoutMs)
})
