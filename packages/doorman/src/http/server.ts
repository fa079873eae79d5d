import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Log } from '../observe/notices.js'
import { httpsServerOptions, type ServerTls } from '../tls.js'

/** A running HTTP server. */
export interface HttpPort {
  readonly port: number
  /** Accepts no more connections, and ends when requests in flight have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

export interface HttpSettings {
  handler: RequestListener
  host: string
  /** 0 picks a free port. */
  port: number
  tls: ServerTls | undefined
  /** Accepts clients without a certificate although one is requested; the handler decides. */
  certificateOptional?: boolean
  log: Log
}

/** Interval of closing idle connections while the server closes, in milliseconds. */
const SWEEP_MS = 20
/** Limits on the arrival of a request's headers and of the whole request, in milliseconds. */
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
/** Most connections at once; further ones are refused. */
const MOST_CONNECTIONS = 10_000

/** Serves over HTTP. Rejects if the port is not available. Errors of the handler are logged, and answered with 500. */
export async function serveHttp(settings: HttpSettings): Promise<HttpPort> {
  const { host, port, tls, certificateOptional = false, log } = settings
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS }
  const handler = shielded(settings.handler, log)
  const server =
    tls === undefined
      ? createServer(limits, handler)
      : createTlsServer({ ...limits, ...httpsServerOptions(tls, certificateOptional) }, handler)
  server.maxConnections = MOST_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', (error) => log.error({ error: String(error) }, 'a port has an error'))
      resolve()
    })
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: (graceMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), graceMs)
        // A kept-alive connection would stay open for seconds after its last response.
        const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
        server.close(() => {
          clearTimeout(timer)
          clearInterval(sweep)
          resolve()
        })
      }),
  }
}

/** An error affects only the request that it belongs to. */
function shielded(handler: RequestListener, log: Log): RequestListener {
  return (request, response) => {
    response.on('error', () => {})
    try {
      handler(request, response)
    } catch (error) {
      log.error({ error: String(error), url: request.url?.slice(0, 256) }, 'a request has failed')
      if (response.headersSent) response.destroy()
      else response.writeHead(500, { 'content-type': 'text/plain' }).end('an error of ours')
    }
  }
}
