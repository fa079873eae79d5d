import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Connections } from './connections.js'
import { type Arrival, CLIENTS } from './scenario.js'

/** The result of a request. */
export interface Answer {
  /** Index in `CLIENTS`. */
  readonly client: number
  /** 0 if there was no answer. */
  readonly status: number
  /** From its due time to its answer, so that late sending hides nothing. */
  readonly ms: number
  /** How late it was sent. */
  readonly lateMs: number
}

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const WARM_UP = 100
/** Connections of a client that are open at the start; more are opened as needed. */
const QUIET_OPEN = 3
const HEAVY_OPEN = 12
/** Slower than the bucket fills, so that no guard sees a shortage yet. */
const WARM_UP_GAP_MS = 15
/** Not one of the clients, so that they are new to every limiter and gate. */
const STRANGER = '127.0.2.1'
/** Longer than the bucket takes to fill. */
const SETTLE_MS = 500

/** Sends all requests at their due times, over keep-alive connections from the clients' addresses (open loop). */
export async function load(clients: readonly Connections[], arrivals: readonly Arrival[]): Promise<Answer[]> {
  const startMs = performance.now()
  const pending: Promise<Answer>[] = []
  for (const { atMs, client } of arrivals) {
    const dueMs = startMs + atMs
    const earlyMs = dueMs - performance.now()
    // When late, answers are still read in between, to free their connections.
    await (earlyMs > 0 ? sleep(earlyMs) : nextTurn())
    const lateMs = Math.max(0, performance.now() - dueMs)
    const answer = clients[client]!.ask()
    pending.push(answer.then((status) => ({ client, status, ms: performance.now() - dueMs, lateMs })))
  }
  const answers = await Promise.all(pending)
  for (const client of clients) client.close()
  return answers
}

/** The clients of one server, connected. */
export async function connectAll(port: number): Promise<Connections[]> {
  const clients = CLIENTS.map(({ address }) => new Connections(port, address, REQUEST))
  for (const [i, client] of clients.entries()) await client.open(CLIENTS[i]!.heavy ? HEAVY_OPEN : QUIET_OPEN)
  return clients
}

/** Lets a new server compile its code, and its bucket refill. */
export async function warmUp(port: number): Promise<void> {
  const stranger = new Connections(port, STRANGER, REQUEST)
  for (let i = 0; i < WARM_UP; i++) {
    if ((await stranger.ask()) === 0) throw new Error('A server gave no answer that its clients understand')
    await sleep(WARM_UP_GAP_MS)
  }
  stranger.close()
  await sleep(SETTLE_MS)
}
