import { connect } from 'node:net'
import { FLOW_HEADER } from './framework.js'

export const CONNECTIONS = 20
export const FLOWS = 1_000

/** One request of each flow. */
export const REQUESTS: readonly string[] = Array.from(
  { length: FLOWS },
  (_, flow) => `GET / HTTP/1.1\r\nHost: localhost\r\n${FLOW_HEADER}: tenant-${flow}\r\n\r\n`,
)

/** How a number of requests went. */
export interface Load {
  readonly refused: number
  /** From the first request to the last answer. */
  readonly ms: number
  /** Of the times that requests took, seen from here. */
  readonly p99Ms: number
}

/**
 * Sends `requests` over keep-alive connections, each waiting for its answer before it asks again, the flows in turn.
 * Never sleeps meanwhile: who writes to a sleeping process pays for waking it up, and a
 * slower server would find us asleep more often, so that a microsecond more would count as several.
 */
export function load(port: number, requests: number): Promise<Load> {
  // Two readings of the clock for each request, on this side: the server's processor is another.
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
        // All servers send their small answer at once; else this would count its parts.
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
