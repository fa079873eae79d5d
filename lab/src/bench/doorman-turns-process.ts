/**
 * A Doorman server with 100 000 clients, in a process of its own. It reports the longest turn of its event loop in CPU
 * time of its thread, so that other load on the machine has little influence.
 */
import { openSync, readSync } from 'node:fs'
import { startDoorman } from '@fairlead/doorman'
import { flowNames } from './flow-names.js'

const CLIENTS = 100_000

/** Commands that the benchmark may send to the process. */
export type Order =
  /** Starts to measure the longest turn. */
  | { readonly kind: 'watch' }
  /** Asks for the longest turn since then. */
  | { readonly kind: 'longest' }
  /** Sets all clocks forward. */
  | { readonly kind: 'jump'; readonly ms: number }
  /** Corrects the wall clock. */
  | { readonly kind: 'correct'; readonly ms: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'win' }
  /** Every client asks, in parts. */
  | { readonly kind: 'fill' }

export interface Served {
  readonly address: string
  readonly httpUrl: string
  readonly debugUrl: string
}

const [config, resources, parent] = process.argv.slice(2) as [string, string, string?]

// Clocks that the benchmark can set.
const steady = performance.now.bind(performance)
const wall = Date.now
let jumpedMs = 0
let correctedMs = 0
performance.now = () => steady() + jumpedMs
Date.now = () => wall() + jumpedMs + correctedMs

const ports = { port: 0, httpPort: 0, debugPort: 0, hostname: '127.0.0.1' }
const doorman = await startDoorman({ config, fresh: true, ...ports, ...(parent === undefined ? {} : { parent }) })
const { server } = doorman
const names = flowNames(CLIENTS)

async function fill(): Promise<void> {
  for (const [i, clientId] of names.entries()) {
    const resourceId = `resource-${i % Number(resources)}`
    server.getCapacity({ clientId, resource: [{ resourceId, priority: -(i % 3), wants: 10 + (i % 90) }] })
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

let watching = false
let longestMs = 0

const statistics = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
const text = Buffer.alloc(64)

/** CPU time of this thread, in milliseconds; Linux updates it every few milliseconds. */
function ranMs(): number {
  const length = readSync(statistics, text, 0, text.length, 0)
  return Number.parseInt(text.toString('latin1', 0, length), 10) / 1e6
}

/** Each iteration of the loop is one turn, or several small ones. */
function watch(beforeMs: number): void {
  const nowMs = ranMs()
  longestMs = Math.max(longestMs, nowMs - beforeMs)
  if (watching) setImmediate(watch, nowMs)
}

/** Executes a command; returns the longest turn so far, in milliseconds. */
async function obey(order: Order): Promise<number> {
  if (order.kind === 'watch') {
    longestMs = 0
    watching = true
    setImmediate(() => watch(ranMs()))
  } else if (order.kind === 'longest') watching = false
  else if (order.kind === 'jump') jumpedMs += order.ms
  else if (order.kind === 'correct') correctedMs += order.ms
  else if (order.kind === 'lose') server.lost('127.0.0.1:1')
  else if (order.kind === 'win') server.won({ afterNobody: true })
  else await fill()
  return longestMs
}

process.on('message', (order: Order) => void obey(order).then((ms) => process.send?.(ms)))
process.on('disconnect', () => process.exit())
const { address, httpUrl, debugUrl } = doorman
process.send?.({ address, httpUrl: httpUrl!, debugUrl: debugUrl! } satisfies Served)
