/**
 * Ten connections of a real Postgres, three tenants. Two keep a hundred queries waiting at all times, one asks for one
 * query at a time: how long does that one wait, beside alone?
 *
 *     pnpm bench:pool
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fairLimit } from '@fairlead/core/queue'
import { startPostgres } from '@fairlead-testing/servers'
import PQueue from 'p-queue'
import pg from 'pg'
import { printTable } from './table.js'

const CONNECTIONS = 10
const QUERY_SECONDS = 0.02
const HEAVY = 2
const WAITING = 100
const ASKED = 400
/** Between two queries of the quiet tenant, so that it is not a heavy one itself. */
const PAUSE_MS = 10

type Query = () => Promise<unknown>
type Turns = (flow: string, query: Query) => Promise<unknown>

const server = await startPostgres()
const pool = new pg.Pool({ connectionString: server.url, max: CONNECTIONS })
const query: Query = () => pool.query('SELECT pg_sleep($1)', [QUERY_SECONDS])

/** How long the quiet tenant's queries took, in milliseconds, least first; and queries of all per second. */
async function trial(turns: Turns, heavy: number): Promise<{ took: number[]; perSecond: number }> {
  let isOver = false
  let done = 0
  const lines = Array.from({ length: heavy * WAITING }, async (_, line) => {
    while (!isOver) {
      await turns(`heavy-${line % heavy}`, query)
      done++
    }
  })
  const took: number[] = []
  const from = performance.now()
  while (took.length < ASKED) {
    const began = performance.now()
    await turns('quiet', query)
    took.push(performance.now() - began)
    await sleep(PAUSE_MS)
  }
  const seconds = (performance.now() - from) / 1_000
  isOver = true
  await Promise.all(lines)
  return { took: took.sort((a, b) => a - b), perSecond: (done + ASKED) / seconds }
}

const fair = (): Turns => {
  const limit = fairLimit({ concurrency: CONNECTIONS, maxWaitMs: 60_000, maxWaiting: 1_000 })
  return (flow, run) => limit(flow, run)
}
const inLine = (): Turns => {
  const queue = new PQueue({ concurrency: CONNECTIONS })
  return (_, run) => queue.add(run)
}

try {
  await trial((_, run) => run(), 0) // connects
  const rows: (readonly [string, Turns, number])[] = [
    ['alone', (_, run) => run(), 0],
    ['beside two heavy ones, the pool alone', (_, run) => run(), HEAVY],
    ['p-queue before it', inLine(), HEAVY],
    ['fairLimit before it', fair(), HEAVY],
  ]
  let alone = Number.NaN
  const table: string[][] = []
  for (const [title, turns, heavy] of rows) {
    const { took, perSecond } = await trial(turns, heavy)
    const [p50, p99] = [0.5, 0.99].map((part) => took[Math.floor(part * took.length)]!) as [number, number]
    if (heavy === 0) alone = p99
    const cells = [p50.toFixed(1), p99.toFixed(1), (p99 / alone).toFixed(2), perSecond.toFixed(0)]
    table.push([title, ...cells])
  }
  console.log(`A pool of ${CONNECTIONS} connections, queries of ${1_000 * QUERY_SECONDS} ms: the quiet tenant's, in ms`)
  printTable(['', 'p50', 'p99', 'p99 / alone', 'queries/s of all'], table)
} finally {
  await pool.end()
  await server.stop()
}
