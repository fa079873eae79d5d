/** What is needed of `http.IncomingMessage`; Express keeps the whole URL in `originalUrl`. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly originalUrl?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** What is needed of `http.ServerResponse`, over HTTP/1 or 2. */
export interface NodeResponse {
  readonly writableEnded: boolean
  readonly destroyed: boolean
  writeHead(status: number, headers: Record<string, string>): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  destroy(): unknown
  once(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** The request as `fetch` knows it. Bodies are not read: nothing here needs one. */
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

/** Sends what `fetch` would, for as long as the client is there. One that does not read to the end is cut off. */
export async function send(answer: Response, response: NodeResponse, isHead: boolean): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  const reader = isHead ? undefined : answer.body?.getReader()
  if (reader === undefined) {
    await answer.body?.cancel()
    response.end()
    return
  }
  const gone = (): void => void reader.cancel().catch(() => {})
  response.once('close', gone)
  if (response.destroyed) gone()
  const over = reader.closed.catch(() => {})
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (!response.write(value)) await Promise.race([drained(response), over])
    }
    if (!response.writableEnded) response.end()
  } catch {
    response.destroy() // sent away
  } finally {
    response.off('close', gone)
  }
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
