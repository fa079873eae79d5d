/**
 * Ten connections of a real Postgres, three tenants. Two keep a hundred queries waiting at all times, one asks for one
 * query at a time: how long does that query wait, beside a run without the others? Queries take a constant time, or
 * exponentially distributed times, such as lookups beside reports.
 *
 *     pnpm bench:pool
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fairLimit } from '@fairlead/core/queue'
import { seededRandom } from '@fairlead/core/testing'
import { startPostgres } from '@fairlead-testing/servers'
import PQueue from 'p-queue'
import pg from 'pg'
import { printTable } from './table.js'

const CONNECTIONS = 10
const QUERY_SECONDS = 0.02
const HEAVY = 2
const WAITING = 100
const ASKED = 400
/** For rows in which each query waits for half a second. */
const ASKED_IN_LINE = 60
/** Most connections of each tenant, in the row that keeps some free. */
const PER_TENANT = 4
/** Pause between two queries of the quiet tenant, so that it is not a heavy one itself. */
const PAUSE_MS = 10

type Query = () => Promise<unknown>
type Turns = (flow: string, query: Query) => Promise<unknown>

/**
 * How queries are admitted to the pool, by the number of tenants that send them and the number of queries of the quiet
 * one.
 */
interface Row {
  readonly title: string
  readonly turns: () => Turns
  readonly heavy: number
  readonly asked: number
}

const server = await startPostgres()
const pool = new pg.Pool({ connectionString: server.url, max: CONNECTIONS })
const sleepFor = (seconds: number): Promise<unknown> => pool.query('SELECT pg_sleep($1)', [seconds])
const random = seededRandom(1)
const even: Query = () => sleepFor(QUERY_SECONDS)
const varied: Query = () => sleepFor(-QUERY_SECONDS * Math.log(1 - random()))

/** Durations of the quiet tenant's queries, in milliseconds, sorted; and queries of all per second. */
async function trial(
  query: Query,
  { turns: make, heavy, asked }: Row,
): Promise<{ readonly took: readonly number[]; readonly perSecond: number }> {
  const turns = make()
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
  while (took.length < asked) {
    const began = performance.now()
    await turns('quiet', query)
    took.push(performance.now() - began)
    await sleep(PAUSE_MS)
  }
  const seconds = (performance.now() - from) / 1_000
  isOver = true
  await Promise.all(lines)
  return { took: took.sort((a, b) => a - b), perSecond: (done + asked) / seconds }
}

const poolAlone = (): Turns => (_, run) => run()
const fair = (perFlowConcurrency?: number) => (): Turns => {
  const options = { concurrency: CONNECTIONS, maxWaitMs: 60_000, maxWaiting: 1_000 }
  const limit = fairLimit(perFlowConcurrency === undefined ? options : { ...options, perFlowConcurrency })
  return (flow, run) => limit(flow, run)
}
const inLine = (): Turns => {
  const queue = new PQueue({ concurrency: CONNECTIONS })
  return (_, run) => queue.add(run)
}

const rows: readonly Row[] = [
  { title: 'alone', turns: poolAlone, heavy: 0, asked: ASKED },
  { title: 'beside two heavy ones, the pool alone', turns: poolAlone, heavy: HEAVY, asked: ASKED_IN_LINE },
  { title: 'p-queue before it', turns: inLine, heavy: HEAVY, asked: ASKED_IN_LINE },
  { title: 'fairLimit before it', turns: fair(), heavy: HEAVY, asked: ASKED },
  { title: `the same, ${PER_TENANT} each at most`, turns: fair(PER_TENANT), heavy: HEAVY, asked: ASKED },
]

try {
  await trial(even, { ...rows[0]!, asked: 20 }) // connects
  for (const [name, query] of Object.entries({ even, varied })) {
    let alone = Number.NaN
    const table: string[][] = []
    for (const row of rows) {
      const { took, perSecond } = await trial(query, row)
      const [p50, p99] = [0.5, 0.99].map((part) => took[Math.floor(part * took.length)]!) as [number, number]
      if (row.heavy === 0) alone = p99
      const cells = [p50.toFixed(1), p99.toFixed(1), (p99 / alone).toFixed(2), perSecond.toFixed(0)]
      table.push([row.title, ...cells])
    }
    console.log(`A pool of ${CONNECTIONS}, queries of ${1_000 * QUERY_SECONDS} ms, ${name}: the quiet tenant's, in ms`)
    printTable(['', 'p50', 'p99', 'p99 / alone', 'queries/s of all'], table)
  }
} finally {
  await pool.end()
  await server.stop()
}
