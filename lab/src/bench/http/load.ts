import { connect } from 'node:net'
import { FLOW_HEADER } from './framework.js'

export const CONNECTIONS = 20
export const FLOWS = 1_000

/** One request of each flow. */
export const REQUESTS: readonly string[] = Array.from(
  { length: FLOWS },
  (_, flow) => `GET / HTTP/1.1\r\nHost: localhost\r\n${FLOW_HEADER}: tenant-${flow}\r\n\r\n`,
)

/** Result of a number of requests. */
export interface Load {
  readonly refused: number
  /** From the first request to the last answer. */
  readonly ms: number
  /** p99 of request durations, measured at the client. */
  readonly p99Ms: number
}

/**
 * Sends `requests` over keep-alive connections, each waiting for its answer before it sends the next, the flows in
 * turn. Never sleeps meanwhile: a write to a sleeping process pays for waking it up, and a slower server would find
 * this one asleep more often, so that one more microsecond would count as several.
 */
export function load(port: number, requests: number): Promise<Load> {
  // Two clock readings for each request, on this side: the server has a processor of its own.
  const times = new Float64Array(requests)
  const startMs = performance.now()
  let sent = 0
  let received = 0
  let refused = 0
  let working = true
  const stayAwake = (): void => {
    if (working) setImmediate(stayAwake)
  }
  stayAwake()
  return new Promise<Load>((resolve, reject) => {
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect(port, '127.0.0.1')
      let askedMs = 0
      const ask = (): void => {
        askedMs = performance.now()
        if (sent < requests) socket.write(REQUESTS[sent++ % FLOWS]!)
        else socket.end()
      }
      socket.setEncoding('latin1')
      socket.on('error', reject)
      socket.on('connect', ask)
      socket.on('data', (text: string) => {
        // All servers send their small answer in one piece; otherwise this would count its parts.
        if (!text.startsWith('HTTP/1.1 ')) reject(new Error(`An answer in parts: ${text}`))
        if (!text.startsWith('HTTP/1.1 200')) refused++
        times[received++] = performance.now() - askedMs
        ask()
        if (received < requests) return
        const ms = performance.now() - startMs
        resolve({ refused, ms, p99Ms: times.sort()[Math.floor(0.99 * requests)]! })
      })
    }
  }).finally(() => {
    working = false
  })
}
