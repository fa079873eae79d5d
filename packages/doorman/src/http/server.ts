import type { Server } from 'node:http'

/** A running HTTP server. */
export interface HttpPort {
  readonly port: number
  /** Takes no more connections, and ends when requests under way have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Between two looks for connections that have nothing more to do, once a server closes. */
const SWEEP_MS = 20

/** Lets `server` listen; `port` 0 is any free one. Rejects when the port cannot be had. */
export async function listen(server: Server, host: string, port: number): Promise<HttpPort> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: (graceMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.closeAllConnections(), graceMs)
        // A connection that is kept alive would stay open for seconds after its last answer.
        const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
        server.close(() => {
          clearTimeout(timer)
          clearInterval(sweep)
          resolve()
        })
      }),
  }
}
