import { connect } from 'node:net'
import { FLOW_HEADER } from './framework.js'

export const CONNECTIONS = 20
export const FLOWS = 1_000

const REQUESTS = Array.from(
  { length: FLOWS },
  (_, flow) => `GET / HTTP/1.1\r\nHost: localhost\r\n${FLOW_HEADER}: tenant-${flow}\r\n\r\n`,
)

/**
 * Sends `requests` over keep-alive connections, each waiting for its answer before it asks again, the flows in turn.
 * Gives how many were refused. Never sleeps meanwhile: who writes to a sleeping process pays for waking it up, and a
 * slower server would find us asleep more often, so that a microsecond more would count as several.
 */
export function load(port: number, requests: number): Promise<number> {
  let sent = 0
  let received = 0
  let refused = 0
  let working = true
  const stayAwake = (): void => {
    if (working) setImmediate(stayAwake)
  }
  stayAwake()
  return new Promise<number>((resolve, reject) => {
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect(port, '127.0.0.1')
      const ask = (): void => {
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
        ask()
        if (++received === requests) resolve(refused)
      })
    }
  }).finally(() => {
    working = false
  })
}
