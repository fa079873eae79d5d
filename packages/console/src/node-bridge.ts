/** The members of a request's connection that this file uses, over HTTP/1 or 2. */
export interface NodeSocket {
  readonly destroyed?: boolean
  /** Calls `listener` at the next `event`. */
  once(event: string, listener: () => void): unknown
}

/** The members of `http.IncomingMessage` that this file uses; Express keeps the whole URL in `originalUrl`. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly httpVersionMajor?: number | undefined
  /** Without it, only the response reports that the client has left. */
  readonly socket?: NodeSocket | null | undefined
}

/** The members of `http.ServerResponse` that this file uses, over HTTP/1 or 2. */
export interface NodeResponse {
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly destroyed: boolean
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  destroy(): unknown
  once(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** The request as a `Request` of `fetch`, without its body, which nothing here needs. Throws if that is impossible. */
export function toRequest({ method = 'GET', url, originalUrl, headers }: NodeRequest): Request {
  const known = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(':'))
      known.set(name, typeof value === 'string' ? value : value.join(', '))
  // The client's `Host` is ignored. Setters accept any value; a URL made from it might throw.
  const [path = '', ...query] = (originalUrl ?? url ?? '/').replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').split('?')
  const target = new URL('http://console/')
  target.pathname = path.replace(/^\/+/, '/')
  target.search = query.join('?')
  return new Request(target, { method: method === 'CONNECT' || method === 'TRACE' ? 'GET' : method, headers: known })
}

/**
 * Sends a `fetch` response as long as the client is connected. If the client does not read it to the end, the
 * connection is closed. If other middleware has answered meanwhile, for example a time-out, that answer stays. Never
 * rejects.
 */
export async function send(answer: Response, request: NodeRequest, response: NodeResponse): Promise<void> {
  try {
    if (response.headersSent || response.writableEnded || response.destroyed || request.socket?.destroyed === true) {
      await answer.body?.cancel()
      return
    }
    response.writeHead(answer.status, fieldsOf(answer.headers, request.httpVersionMajor === 2))
    if (request.method === 'HEAD' || answer.body === null) {
      response.end()
      await answer.body?.cancel()
    } else await pipe(answer.body.getReader(), request, response)
  } catch {
    // The connection broke, or a layer in between threw. No client is left to answer.
    answer.body?.cancel().catch(() => {})
    quietly(() => response.destroy())
  }
}

/**
 * Headers for Node: each cookie stays a field of its own, because cookies must not be joined by commas. HTTP/2 has no
 * fields about connections.
 */
function fieldsOf(given: Headers, isHttp2: boolean): Record<string, string | string[]> {
  const headers = new Headers(given)
  if (isHttp2) headers.delete('connection')
  const cookies = headers.getSetCookie()
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) }
}

async function pipe(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  request: NodeRequest,
  response: NodeResponse,
): Promise<void> {
  const gone = (): void => void reader.cancel().catch(() => {})
  const over = reader.closed.catch(() => {})
  response.once('close', gone)
  const stayed = onceGone(request.socket, gone)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      // Other middleware may have ended the response.
      if (done || response.writableEnded || response.destroyed) break
      if (!response.write(value)) await Promise.race([drained(response), over])
    }
    if (!response.writableEnded) response.end()
  } finally {
    gone()
    stayed()
    response.off('close', gone)
  }
}

const leavers = new WeakMap<NodeSocket, Set<() => void>>()

/**
 * Calls `gone` once the connection has closed: a response that waits behind another on the same connection does not get
 * that event. One listener per connection for any number of requests. Returns a function that stops it.
 */
function onceGone(socket: NodeSocket | null | undefined, gone: () => void): () => void {
  if (typeof socket?.once !== 'function') return () => {}
  let all = leavers.get(socket)
  if (all === undefined) {
    const added = new Set<() => void>()
    all = added
    leavers.set(socket, added)
    socket.once('close', () => {
      for (const leave of [...added]) leave()
    })
  }
  all.add(gone)
  return () => void all.delete(gone)
}

/** Waits until more may be written, or the response has closed. */
function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
    if (response.destroyed) done()
  })
}

function quietly(work: () => void): void {
  try {
    work()
  } catch {
    // See above.
  }
}
