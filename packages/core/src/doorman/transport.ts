import type { After } from '../clock.js'
import { fail, requireFunction, requireOptions, requireText, show } from '../options.js'
import { CapacityError, type CapacityErrorCode, type CapacityService, type Eventually } from './protocol.js'
import { CAPACITY_ERROR_STATUS, CAPACITY_JSON, type MethodJson } from './protocol-json.js'

/** A client's connection to its servers. */
export interface Transport {
  /**
   * The server at `address`, which another server named as the master; without `address`, the first server, or the next
   * of several to try. May throw, which counts as no answer. Nothing needs to be closed.
   */
  connect(address?: string): CapacityService
}

const METHODS = ['discovery', 'getCapacity', 'getServerCapacity', 'releaseCapacity'] as const

/**
 * Servers in the same process: one node, or a function that finds the node of an address (called without one for the
 * node to begin with).
 */
export function inProcess(nodes: CapacityService | ((address?: string) => CapacityService)): Transport {
  if (typeof nodes === 'function') return { connect: nodes }
  if (typeof nodes !== 'object' || nodes === null) fail('nodes', 'a server node or a function that finds one', nodes)
  for (const method of METHODS) requireFunction(`nodes.${method}`, nodes[method])
  // The only node serves every address.
  return { connect: () => nodes }
}

/**
 * The answer of `send`, or a {@link CapacityError} after `ms` milliseconds; the signal then fires, and a later answer
 * is ignored. Never takes longer than `ms`, even if `send` ignores the signal.
 */
export function withinDeadline<T>(ms: number, after: After, send: (signal: AbortSignal) => Eventually<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const cancel = after(ms, () => {
      const error = new CapacityError('deadline_exceeded', `no answer in ${ms} ms`)
      reject(error)
      controller.abort(error)
    })
    new Promise<T>((answer) => answer(send(controller.signal))).then(resolve, reject).finally(cancel)
  })
}

/** Options of {@link overHttp}. */
export interface HttpTransportOptions {
  /**
   * `scheme://host:port`, with a path if a proxy needs one. If there are several, the next is tried when one does not
   * answer.
   */
  url: string | readonly string[]
  /** Sent with each request, also to a master that a server named: for example `authorization`. @default none */
  headers?: Readonly<Record<string, string>>
  /** @default the platform's */
  fetch?: typeof fetch
  /** The URL of a master that a server named. @default the address, with the scheme of `url` if it has none */
  urlOf?: (address: string) => string
}

const OPTIONS = ['url', 'headers', 'fetch', 'urlOf']

/**
 * Servers over HTTP, with JSON and only `fetch`: at the edge, in a browser, or instead of gRPC. A request ends when the
 * caller's signal fires, so the client's `deadlineMs` bounds it; it has no timer of its own.
 *
 * @throws RangeError, TypeError that names an invalid option
 */
export function overHttp(options: HttpTransportOptions): Transport {
  const connect = httpPosts(options)
  return { connect: (address) => serviceBy(connect(address)) }
}

/** Posts JSON to a server, and returns the answer as `read` parses it. */
export type Post = <A>(path: string, body: unknown, read: (json: unknown) => A, signal?: AbortSignal) => Promise<A>

/** Connections to servers, as {@link Transport} returns them. */
export function httpPosts(options: HttpTransportOptions): (address?: string) => Post {
  requireOptions('http', options, OPTIONS)
  const { url, headers = {}, fetch: send = (input, init) => fetch(input, init) } = options
  const urls = (Array.isArray(url) ? url : [url]).map((one: unknown) => requireUrl(one))
  if (urls.length === 0) throw new TypeError('url must be a URL or several, got an empty array')
  requireFunction('fetch', send)
  if (typeof headers !== 'object' || headers === null) fail('headers', 'an object', headers)
  const { urlOf = (address: string) => (address.includes('://') ? address : `${schemeOf(urls[0]!)}${address}`) } =
    options
  requireFunction('urlOf', urlOf)
  let next = 0
  return (address) => {
    const base = address === undefined ? urls[next++ % urls.length]! : requireUrl(urlOf(address))
    return (path, body, read, signal) => post(send, base, path, headers, body, read, signal)
  }
}

function schemeOf(url: string): string {
  return url.slice(0, url.indexOf('://') + '://'.length)
}

/** The URL without its final slash. */
function requireUrl(url: unknown): string {
  requireText('url', url)
  const text = url as string
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text))
    throw new TypeError(`url must begin with http:// or https:// and a host, got ${show(url)}`)
  return text.replace(/\/+$/, '')
}

function serviceBy(post: Post): CapacityService {
  const call = <Q, A>({ path, request, response }: MethodJson<Q, A>, asked: Q, signal?: AbortSignal): Promise<A> =>
    post(path, request.write(asked), response.read, signal)
  const { discovery, getCapacity, getServerCapacity, releaseCapacity } = CAPACITY_JSON
  return {
    discovery: (request, signal) => call(discovery, request, signal),
    getCapacity: (request, signal) => call(getCapacity, request, signal),
    getServerCapacity: (request, signal) => call(getServerCapacity, request, signal),
    releaseCapacity: (request, signal) => call(releaseCapacity, request, signal),
  }
}

async function post<A>(
  send: typeof fetch,
  base: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  read: (json: unknown) => A,
  signal: AbortSignal | undefined,
): Promise<A> {
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, signal: signal ?? null }
  let response: Response
  let text: string
  try {
    response = await send(base + path, { ...init, body: JSON.stringify(body) })
    text = await response.text()
  } catch (error) {
    throw new CapacityError('unavailable', `no answer from ${base}: ${String(error)}`, { cause: error })
  }
  if (!response.ok) throw failure(base, response.status, text)
  try {
    return read(JSON.parse(text))
  } catch (error) {
    throw new CapacityError('internal', `a bad answer from ${base}: ${String(error)}`, { cause: error })
  }
}
const CODES = Object.keys(CAPACITY_ERROR_STATUS) as CapacityErrorCode[]

/** The error of an answer that is not a success: from its body if possible, otherwise from its status. */
function failure(base: string, status: number, text: string): CapacityError {
  let code: unknown
  let message: unknown
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) ({ code, message } = body as { code?: unknown; message?: unknown })
  } catch {
    // Not from a Capacity server: for example a proxy's page.
  }
  const known = CODES.find((name) => name === code) ?? CODES.find((name) => CAPACITY_ERROR_STATUS[name] === status)
  return new CapacityError(known ?? 'unavailable', typeof message === 'string' ? message : `${status} from ${base}`)
}
