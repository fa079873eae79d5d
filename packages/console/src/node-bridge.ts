/** What is needed of a request's connection, over HTTP/1 or 2. */
export interface NodeSocket {
  readonly destroyed?: boolean
  /** Calls `listener` at the next `event`. */
  once(event: string, listener: () => void): unknown
}

/** What is needed of `http.IncomingMessage`; Express keeps the whole URL in `originalUrl`. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Where there is none, only the response tells that the client has left. */
  readonly socket?: NodeSocket | null | undefined
}

/** What is needed of `http.ServerResponse`, over HTTP/1 or 2. */
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

/** The request as `fetch` knows it. Bodies are not read: nothing here needs one. Throws where it can be none. */
export function toRequest({ method = 'GET', url, originalUrl, headers }: NodeRequest): Request {
  const known = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(':'))
      known.set(name, typeof value === 'string' ? value : value.join(', '))
  // What the client calls the host decides nothing. Setters take whatever it sends; a URL made of it might throw.
  const [path = '', ...query] = (originalUrl ?? url ?? '/').replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').split('?')
  const target = new URL('http://console/')
  target.pathname = path.replace(/^\/+/, '/')
  target.search = query.join('?')
  return new Request(target, { method: method === 'CONNECT' || method === 'TRACE' ? 'GET' : method, headers: known })
}

/**
 * Sends what `fetch` would, for as long as the client is there. One that does not read to the end is cut off. If
 * somebody else has answered meanwhile, a time-out for example, that answer stays. Never rejects.
 */
export async function send(answer: Response, request: NodeRequest, response: NodeResponse): Promise<void> {
  try {
    if (response.headersSent || response.writableEnded || response.destroyed || request.socket?.destroyed === true) {
      await answer.body?.cancel()
      return
    }
    response.writeHead(answer.status, fieldsOf(answer.headers))
    if (request.method === 'HEAD' || answer.body === null) {
      response.end()
      await answer.body?.cancel()
    } else await pipe(answer.body.getReader(), request, response)
  } catch {
    // The connection broke, or something between us and it threw. Nobody is left who could be told.
    answer.body?.cancel().catch(() => {})
    quietly(() => response.destroy())
  }
}

/** As Node takes them: cookies stay one field each, because a comma in one means nothing. */
function fieldsOf(headers: Headers): Record<string, string | string[]> {
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
      // Somebody else may have ended the response.
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
 * Calls `gone` once the connection has closed. A response that waits behind another on the same connection does not
 * hear of that. One listener per connection, however many requests it carries. Returns what stops it.
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

/** Until more may be written, or nothing any more. */
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
