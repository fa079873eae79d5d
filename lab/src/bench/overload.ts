/**
 * Express in overload on a real server, with a queue whose capacity is learned: `queue: { capacity: adaptive() }`.
 *
 * The handler waits for a dependency and then computes, so that the capacity of one thread is known. 18 light clients
 * together ask for 40 % of it, 2 heavy ones for the rest of the load. Open loop, Poisson, over warm loopback
 * connections, from this process to a server in another.
 *
 *     pnpm bench:overload
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { adaptive, requestQueue } from '@fairlead/core/queue'
import { fairMiddleware } from '@fairlead/express'
import express from 'express'
import { printTable } from './table.js'

const COMPUTE_MS = 8
const ELSEWHERE_MS = 40
const LIGHT = 18
const HEAVY = 2
/** Part of the capacity that the light clients together ask for, at any load. */
const LIGHT_LOAD = 0.4
const SECONDS = 40
const CONNECTIONS = 600
const WARM_MS = 500
/** Not counted: the limit and the heavy flows are being learned. */
const WARM_UP_SECONDS = 15

type Mode = 'bare' | 'fairlead'

interface Answer {
  light: boolean
  ok: boolean
  ms: number
}

interface Row {
  /** Served per second, within the time that is counted. */
  goodput: number
  p50: number
  p99: number
  lightServed: number
  /** Refusals by stage and reason, warm-up included. */
  refusedBy: Record<string, number>
}

function serve(mode: Mode): void {
  const app = express()
  // Long enough that every request opens a connection of its own.
  app.get('/warm', (_req, res) => setTimeout(() => res.end(), WARM_MS))
  if (mode === 'fairlead') {
    const fair = fairMiddleware({
      flow: (req) => req.get('x-client'),
      queue: requestQueue({ concurrency: adaptive() }),
    })
    app.use(fair)
    process.on('message', () => process.send?.(fair.gate.snapshot().refusedBy))
  } else process.on('message', () => process.send?.({}))
  app.get('/', async (_req, res) => {
    await sleep(ELSEWHERE_MS)
    const until = performance.now() + COMPUTE_MS
    while (performance.now() < until);
    res.send('done')
  })
  const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.once('disconnect', () => process.exit())
}

async function withServer<T>(mode: Mode, use: (port: number, server: ChildProcess) => Promise<T>): Promise<T> {
  const server: ChildProcess = fork(import.meta.filename, [mode])
  try {
    const [port] = (await once(server, 'message')) as [number]
    return await use(port, server)
  } finally {
    server.disconnect()
    await once(server, 'exit')
  }
}

/** Sends one request, with a timeout of five seconds. */
function ask(port: number, agent: Agent, client: number, path = '/'): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { 'x-client': `client-${client}` }
    const call = request({ port, host: '127.0.0.1', path, agent, headers }, (res) => {
      res.resume().once('close', () => resolve(res.statusCode === 200 && res.complete))
    })
    call.setTimeout(5_000, () => call.destroy())
    call.once('error', () => resolve(false)).end()
  })
}

/**
 * Throughput of the server per second with eight requests in flight at all times: always work to do, and never too
 * much.
 */
async function capacity(port: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const end = performance.now() + 4_000
  let done = 0
  const worker = async (client: number): Promise<void> => {
    while (performance.now() < end) if (await ask(port, agent, client)) done++
  }
  await Promise.all(Array.from({ length: 16 }, (_, client) => worker(client)))
  agent.destroy()
  return done / 4
}

async function load(port: number, server: ChildProcess, perSecond: number, lightPerSecond: number): Promise<Row> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS })
  // A busy loop accepts one connection per turn: accepting would be measured, not serving.
  await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(port, agent, 0, '/warm')))
  const pending: Promise<void>[] = []
  const answers: Answer[] = []
  const startMs = performance.now()
  const countFromMs = startMs + WARM_UP_SECONDS * 1_000
  const endMs = startMs + SECONDS * 1_000
  let dueMs = startMs
  let inTime = 0
  while (dueMs < endMs) {
    dueMs += (-1_000 * Math.log(1 - Math.random())) / perSecond
    const waitMs = dueMs - performance.now()
    if (waitMs > 0.5) await sleep(waitMs)
    const light = Math.random() < lightPerSecond / perSecond
    const client = light ? Math.floor(Math.random() * LIGHT) : LIGHT + Math.floor(Math.random() * HEAVY)
    const sentMs = dueMs
    pending.push(
      ask(port, agent, client).then((ok) => {
        const nowMs = performance.now()
        if (ok && nowMs >= countFromMs && nowMs < endMs) inTime++
        if (sentMs >= countFromMs) answers.push({ light, ok, ms: nowMs - sentMs })
      }),
    )
  }
  await Promise.all(pending)
  agent.destroy()
  server.send('refusals')
  const [refusedBy] = (await once(server, 'message')) as [Record<string, number>]
  const served = answers.filter(({ ok }) => ok)
  const times = served.map(({ ms }) => ms).sort((a, b) => a - b)
  const lights = answers.filter(({ light }) => light)
  return {
    goodput: inTime / (SECONDS - WARM_UP_SECONDS),
    p50: times[Math.floor(times.length * 0.5)] ?? Number.NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
    lightServed: lights.filter(({ ok }) => ok).length / lights.length,
    refusedBy,
  }
}

if (process.send !== undefined) serve(process.argv[2] as Mode)
else {
  const most = await withServer('bare', capacity)
  const rows: [name: string, row: Row][] = []
  for (const [mode, factor] of [
    ['fairlead', 0.3],
    ['bare', 1],
    ['fairlead', 1],
    ['bare', 4],
    ['fairlead', 4],
  ] as const) {
    const row = await withServer(mode, (port, server) =>
      load(port, server, most * factor, most * Math.min(LIGHT_LOAD, LIGHT_LOAD * factor)),
    )
    rows.push([`× ${factor}, ${mode}`, row])
  }
  console.log(
    `A handler that waits ${ELSEWHERE_MS} ms and computes ${COMPUTE_MS}; capacity ${most.toFixed(0)} per second`,
  )
  printTable(
    ['load', 'served / capacity', 'p50 ms', 'p99 ms', 'light served', 'refused by'],
    rows.map(([name, { goodput, p50, p99, lightServed, refusedBy }]) => [
      name,
      (goodput / most).toFixed(2),
      p50.toFixed(0),
      p99.toFixed(0),
      `${(100 * lightServed).toFixed(1)} %`,
      Object.entries(refusedBy)
        .map(([by, count]) => `${by} ${count}`)
        .join(', '),
    ]),
  )
}
