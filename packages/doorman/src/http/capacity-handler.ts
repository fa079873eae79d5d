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
} from '@fairlead/core/doorman'
import type { Credentials } from '../access.js'
import { namesOf } from '../tls.js'

export interface CapacityHandlerSettings {
  /** The service that answers callers; looked up at each call. */
  service(from: Credentials): CapacityService
  /** URL of the master for HTTP: the service knows its gRPC address. */
  masterUrl(): string | undefined
  /** Largest accepted body, in bytes. */
  maxRequestBytes: number
  /** Origins whose pages may call from a browser; `*` is any. */
  corsOrigins: readonly string[]
}

/**
 * The service as HTTP: `POST /doorman.Capacity/GetCapacity` and so on, JSON both ways; an error is a status and
 * `{ code, message }`.
 */
export function capacityHandler(settings: CapacityHandlerSettings): RequestListener {
  const { discovery, getCapacity, getServerCapacity, releaseCapacity } = CAPACITY_JSON
  const routes = new Map([
    route(settings, discovery, (service, request) => service.discovery(request)),
    route(settings, getCapacity, (service, request) => service.getCapacity(request)),
    route(settings, getServerCapacity, (service, request) => service.getServerCapacity(request)),
    route(settings, releaseCapacity, (service, request) => service.releaseCapacity(request)),
  ])
  return (request, response) => {
    const answer = routes.get(request.url?.split('?')[0] ?? '')
    const isPreflight = allowOrigin(settings.corsOrigins, request, response)
    if (answer === undefined) send(response, 404, { code: 'unimplemented', message: 'no such method' })
    else if (isPreflight) response.writeHead(204).end()
    else if (request.method !== 'POST') {
      response.setHeader('allow', 'POST')
      send(response, 405, { code: 'unimplemented', message: `${request.method} is not POST` })
    } else
      answer(request).then(
        (body) => send(response, 200, body),
        (error: unknown) => {
          // The rest of a refused body is not awaited.
          if (!request.complete) response.setHeader('connection', 'close')
          sendError(response, error)
        },
      )
  }
}

/** The header and the certificate of a request. */
export function credentialsOf(request: IncomingMessage): Credentials {
  return {
    authorization: request.headers.authorization,
    get names() {
      return namesOf(request.socket)
    },
  }
}

/** Answers with the status of an error; an error that is no {@link CapacityError} is the server's own fault. */
export function sendError(response: ServerResponse, error: unknown): void {
  const code = error instanceof CapacityError ? error.code : 'internal'
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'unauthenticated') response.setHeader('www-authenticate', 'Bearer')
  send(response, CAPACITY_ERROR_STATUS[code], { code, message })
}

type JsonHandler = (request: IncomingMessage) => Promise<unknown>

function route<Request, Response extends { mastership?: Mastership }>(
  { service, masterUrl, maxRequestBytes }: CapacityHandlerSettings,
  method: MethodJson<Request, Response>,
  answer: (service: CapacityService, request: Request) => Eventually<Response>,
): [string, JsonHandler] {
  return [
    method.path,
    async (incoming) => {
      const allowed = service(credentialsOf(incoming))
      const response = await answer(allowed, method.request.read(await bodyOf(incoming, maxRequestBytes)))
      if (response.mastership?.masterAddress === undefined) return method.response.write(response)
      const url = masterUrl()
      return method.response.write({ ...response, mastership: url === undefined ? {} : { masterAddress: url } })
    },
  ]
}

/** Lets pages of these origins read the answer; true for a browser's preflight request. */
function allowOrigin(origins: readonly string[], request: IncomingMessage, response: ServerResponse): boolean {
  if (origins.length === 0) return false
  response.setHeader('vary', 'origin')
  const { origin } = request.headers
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  response.setHeader('access-control-allow-origin', origin)
  if (request.method !== 'OPTIONS') return false
  response.setHeader('access-control-allow-methods', 'POST')
  response.setHeader('access-control-allow-headers', 'authorization, content-type')
  response.setHeader('access-control-max-age', '600')
  return true
}

/** The JSON of a request's body. Throws a {@link CapacityError} if the body is no JSON, or too long. */
export async function bodyOf(incoming: IncomingMessage, most: number): Promise<unknown> {
  let bytes = 0
  async function* bounded(): AsyncGenerator<Buffer> {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > most) throw new CapacityError('invalid_argument', `the body must be at most ${most} bytes`)
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

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
