import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The request header that names the flow in modes that take a function for it. */
export const FLOW_HEADER = 'x-api-key'
/** More requests a minute than the bench can send: no limiter ever refuses. */
export const NEVER_REACHED = 1_000_000_000

/** One framework, with each of the middlewares that are compared in front of the same small route. */
export interface Framework {
  title: string
  /**
   * Upper bound for the default middleware's CPU time above the bare server on Node 24, in microseconds per request.
   */
  goalUs: number
  /** Differences between the modes. */
  about?: string
  /** Names of what is in front of the route; the first is nothing. */
  modes: readonly string[]
  /** Serves `GET /` behind that mode on a free port of the loopback; returns the port. */
  serve(mode: string): Promise<number>
}

/** A random number that never sheds: a busy machine makes event loops late, and refusals are not measured here. */
export const lucky = (): number => 0.999_999 + Math.random() / 10_000_000

const servers = new Map<number, Server>()

/** The port of a server, once it listens. */
export function portOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.on('listening', () => {
      const { port } = server.address() as AddressInfo
      servers.set(port, server)
      resolve(port)
    })
  })
}

/** The server of this process that listens on a port. */
export function serverOf(port: number): Server {
  return servers.get(port)!
}
