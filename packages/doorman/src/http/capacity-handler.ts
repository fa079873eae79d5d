import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import {
  CAPACITY_ERROR_STATUS,
  CAPACITY_JSON,
  CapacityError,
  type CapacityService,
  type Eventually,
  type Mastership,
  type MethodJson,
} from '@fairlead/core'

/** Largest body that is taken: a client's request for some thousands of resources. */
const MOST_BYTES = 4 << 20

/**
 * The service as HTTP: `POST /doorman.Capacity/GetCapacity` and so on, JSON both ways; an error is a status and
 * `{ code, message }`. `masterUrl` says where the master is for HTTP, because the service knows where it is for gRPC.
 */
export function capacityHandler(service: () => CapacityService, masterUrl: () => string | undefined): RequestListener {
  const { discovery, getCapacity, getServerCapacity, releaseCapacity } = CAPACITY_JSON
  const routes = new Map([
    route(discovery, (request) => service().discovery(request), masterUrl),
    route(getCapacity, (request) => service().getCapacity(request), masterUrl),
    route(getServerCapacity, (request) => service().getServerCapacity(request), masterUrl),
    route(releaseCapacity, (request) => service().releaseCapacity(request), masterUrl),
  ])
  return (request, response) => {
    const answer = routes.get(request.url?.split('?')[0] ?? '')
    if (answer === undefined) send(response, 404, { code: 'unimplemented', message: `no method ${request.url}` })
    else if (request.method !== 'POST') {
      response.setHeader('allow', 'POST')
      send(response, 405, { code: 'unimplemented', message: `${request.method} is not POST` })
    } else
      answer(request).then(
        (body) => send(response, 200, body),
        (error: unknown) => {
          const code = error instanceof CapacityError ? error.code : 'internal'
          const message = error instanceof Error ? error.message : String(error)
          // What is left of a body that was refused is not waited for.
          if (!request.complete) response.setHeader('connection', 'close')
          send(response, CAPACITY_ERROR_STATUS[code], { code, message })
        },
      )
  }
}

type Answer = (request: IncomingMessage) => Promise<unknown>

function route<Request, Response extends { mastership?: Mastership }>(
  method: MethodJson<Request, Response>,
  answer: (request: Request) => Eventually<Response>,
  masterUrl: () => string | undefined,
): [string, Answer] {
  return [
    method.path,
    async (incoming) => {
      const response = await answer(method.request.read(await bodyOf(incoming)))
      if (response.mastership?.masterAddress === undefined) return method.response.write(response)
      const url = masterUrl()
      return method.response.write({ ...response, mastership: url === undefined ? {} : { masterAddress: url } })
    },
  ]
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  let bytes = 0
  async function* bounded(): AsyncGenerator<Buffer> {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MOST_BYTES)
        throw new CapacityError('invalid_argument', `the body must be at most ${MOST_BYTES} bytes`)
      yield chunk
    }
  }
  try {
    return await readJson(bounded())
  } catch (error) {
    if (error instanceof CapacityError) throw error
    throw new CapacityError('invalid_argument', `the body must be JSON: ${String(error)}`, { cause: error })
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
