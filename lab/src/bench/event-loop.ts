/**
 * Shedding by event-loop delay on a real server: a Node server whose handler only computes, open-loop Poisson load from
 * this process on 200 warm loopback connections, with and without the shedder.
 *
 *     pnpm --filter @fairlead/core build && pnpm --filter @fairlead/lab build
 *     node lab/dist/bench/event-loop.js [seconds per row] [part of row names] [busy loops beside] [cores it may use]
 *
 * Less than one core is a CPU quota: a child cgroup of this machine, which needs root; loads are relative to the quota,
 * and the group has precedence over all other processes unless there are busy loops. The busy loops are other processes
 * that never rest; with them, `sudo nice -n -15` keeps the load generator on time. Prints served / capacity, latency of
 * the served requests, shares, and the server's CPU time per time. Read ratios within a run, not times: on a busy
 * machine the server gets less CPU time, but served / CPU hardly changes.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { LoadShedder } from '@fairlead/core'
import { eventLoopDelaySignal } from '@fairlead/core/node'
import underPressure from '@fastify/under-pressure'
import fastify from 'fastify'
import overloadProtection from 'overload-protection'
import { container } from './container.js'

const CONNECTIONS = 200
const WARM_UP_MS = 50
/** Setting of the peers, among the delays in their documentation. */
const PEER_MS = 42

interface Row {
  name: string
  /** CPU time of a request, in milliseconds. */
  handlerMs: number
  /** Demand, in multiples of the capacity of one thread. */
  load: number
  /**
   * By the loop's own lateness and its quota's, as is the default; without the quota's; by the whole lateness; by a
   * peer; at random by the known load, the best that can be done; or every request, which shows what refusals cost.
   */
  shed: false | 'own' | 'no quota' | 'all' | 'overload-protection' | 'under-pressure' | 'known' | 'everything'
  /** Time that a request waits without computing, in milliseconds; `load` is then in thousands of requests a second. */
  waitMs?: number
  /** Blocks the loop for this time, every 1.5 s. */
  pauseMs?: number
}

const ROWS: readonly Row[] = [
  { name: 'unloaded, none', handlerMs: 4, load: 0.1, shed: false },
  { name: 'x 0.5, none', handlerMs: 4, load: 0.5, shed: false },
  { name: 'x 0.5, shedder', handlerMs: 4, load: 0.5, shed: 'own' },
  { name: 'x 1, none', handlerMs: 4, load: 1, shed: false },
  { name: 'x 1, shedder', handlerMs: 4, load: 1, shed: 'own' },
  { name: 'x 2, none', handlerMs: 4, load: 2, shed: false },
  { name: 'x 2, shedder', handlerMs: 4, load: 2, shed: 'own' },
  { name: 'x 4, none', handlerMs: 4, load: 4, shed: false },
  { name: 'x 4, shedder', handlerMs: 4, load: 4, shed: 'own' },
  { name: 'x 2, known load', handlerMs: 4, load: 2, shed: 'known' },
  { name: 'x 4, known load', handlerMs: 4, load: 4, shed: 'known' },
  { name: 'x 4, everything refused', handlerMs: 4, load: 4, shed: 'everything' },
  { name: '25 ms handler x 0.5, shedder', handlerMs: 25, load: 0.5, shed: 'own' },
  { name: '25 ms handler x 2, shedder', handlerMs: 25, load: 2, shed: 'own' },
  { name: 'pauses x 0.4, none', handlerMs: 4, load: 0.4, shed: false, pauseMs: 150 },
  { name: 'pauses x 0.4, shedder', handlerMs: 4, load: 0.4, shed: 'own', pauseMs: 150 },
  { name: 'waits at 300/s, none', handlerMs: 0, waitMs: 100, load: 0.3, shed: false },
  { name: 'waits at 300/s, all lateness', handlerMs: 0, waitMs: 100, load: 0.3, shed: 'all' },
  { name: 'waits at 300/s, shedder', handlerMs: 0, waitMs: 100, load: 0.3, shed: 'own' },
  { name: 'x 0.2, none', handlerMs: 4, load: 0.2, shed: false },
  { name: 'x 0.2, all lateness', handlerMs: 4, load: 0.2, shed: 'all' },
  { name: 'x 0.2, shedder', handlerMs: 4, load: 0.2, shed: 'own' },
  { name: 'x 2, overload-protection', handlerMs: 4, load: 2, shed: 'overload-protection' },
  { name: 'x 2, under-pressure', handlerMs: 4, load: 2, shed: 'under-pressure' },
  { name: 'x 4, overload-protection', handlerMs: 4, load: 4, shed: 'overload-protection' },
  { name: 'x 4, under-pressure', handlerMs: 4, load: 4, shed: 'under-pressure' },
  { name: 'x 2, quota left out', handlerMs: 4, load: 2, shed: 'no quota' },
  { name: 'x 4, quota left out', handlerMs: 4, load: 4, shed: 'no quota' },
  { name: 'x 2, all lateness', handlerMs: 4, load: 2, shed: 'all' },
]

const BUSY = 'for (;;);'

async function serve({ handlerMs, waitMs = 0, load, shed, pauseMs = 0 }: Row): Promise<void> {
  // The load generator may have been given precedence; the server competes as any other process.
  setPriority(0)
  const guard = await guardOf(shed, load)
  const server = createServer((req, res) => {
    if (req.url === '/warm') {
      // Long enough that every request opens a connection of its own.
      setTimeout(() => res.end(), WARM_UP_MS)
      return
    }
    const finish = guard()
    if (finish === undefined) {
      res.writeHead(503).end()
      return
    }
    res.once('close', finish)
    compute(handlerMs)
    if (waitMs > 0) setTimeout(() => res.end('done'), waitMs)
    else res.end('done')
  })
  server.keepAliveTimeout = 60_000
  if (pauseMs > 0) setInterval(() => compute(pauseMs), 1_500).unref()
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object' && address !== null) process.send?.(address.port)
  })
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.once('disconnect', () => process.exit())
}

/** Admits a request and returns the function to call at its end; undefined: refused. */
async function guardOf(shed: Row['shed'], load: number): Promise<() => (() => void) | undefined> {
  if (shed === false) return () => () => {}
  if (shed === 'everything') return () => undefined
  if (shed === 'known') return () => (Math.random() * load < 1 ? () => {} : undefined)
  if (shed === 'overload-protection') {
    const protect = overloadProtection('http', { production: true, maxEventLoopDelay: PEER_MS })
    return () => (protect.overload ? undefined : () => {})
  }
  if (shed === 'under-pressure') {
    const pressure = fastify()
    await pressure.register(underPressure, { maxEventLoopDelay: PEER_MS, sampleInterval: 100 })
    await pressure.ready()
    return () => (pressure.isUnderPressure() ? undefined : () => {})
  }
  const options = { own: {}, 'no quota': { throttledMs: () => 0 }, all: { waitedMs: () => 0 } }[shed]
  const shedder = new LoadShedder({ signal: eventLoopDelaySignal(options) })
  return () => {
    const decision = shedder.tryAdmit()
    return decision.admitted ? () => decision.finish() : undefined
  }
}

/** Computes for `ms` of CPU time; on a shared processor it takes longer. */
function compute(ms: number): void {
  const before = process.cpuUsage()
  const spentMs = (): number => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  while (spentMs() < ms);
}

async function measure(row: Row, seconds: number, cores: number, ahead: boolean): Promise<string> {
  const box = cores < 1 ? container({ cores, ahead }) : undefined
  const server: ChildProcess = fork(import.meta.filename, [JSON.stringify(row)])
  try {
    const [port] = (await once(server, 'message')) as [number]
    // Only now, because the start takes more than a small quota allows.
    box?.add(server.pid!)
    const before = await cpuMs(server)
    const startMs = performance.now()
    const cells = await drive({ ...row, load: row.load * cores }, port, seconds, cores)
    const busy = ((await cpuMs(server)) - before) / (performance.now() - startMs)
    return `${cells} |${busy.toFixed(2).padStart(8)}`
  } finally {
    server.disconnect()
    await once(server, 'exit')
    box?.remove()
  }
}

async function cpuMs(server: ChildProcess): Promise<number> {
  server.send('cpu')
  const [{ user, system }] = (await once(server, 'message')) as [NodeJS.CpuUsage]
  return (user + system) / 1_000
}

async function drive(row: Row, port: number, seconds: number, cores: number): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const get = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const req = request({ agent, port, path, host: '127.0.0.1' }, (res) => {
        res.resume().once('end', () => resolve(res.statusCode ?? 0))
      })
      req.once('error', reject).end()
    })
  await Promise.all(Array.from({ length: CONNECTIONS }, () => get('/warm')))

  const meanGapMs = (row.waitMs === undefined ? row.handlerMs : 1) / row.load
  const gapMs = (): number => -Math.log(1 - Math.random()) * meanGapMs
  const latencies: number[] = []
  const pending = new Set<Promise<void>>()
  let asked = 0
  let shed = 0
  let unsent = 0
  let served = 0
  const startMs = performance.now()
  const endMs = startMs + seconds * 1_000
  const send = async (): Promise<void> => {
    const sentMs = performance.now()
    const status = await get('/')
    if (status === 503) {
      shed++
      return
    }
    latencies.push(performance.now() - sentMs)
    if (performance.now() <= endMs) served++
  }
  for (let atMs = startMs; atMs < endMs; atMs += gapMs()) {
    // Open loop: late arrivals are sent immediately.
    if (atMs > performance.now()) await sleep(atMs - performance.now())
    asked++
    if (pending.size >= CONNECTIONS) {
      unsent++
      continue
    }
    const one = send().finally(() => pending.delete(one))
    pending.add(one)
  }
  await Promise.all(pending)
  agent.destroy()
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(share * latencies.length)] ?? Number.NaN
  const capacity = (cores * seconds * 1_000) / (row.waitMs === undefined ? row.handlerMs : meanGapMs)
  return [
    (served / capacity).toFixed(2),
    at(0.5).toFixed(0),
    at(0.99).toFixed(0),
    (shed / asked).toFixed(3),
    (unsent / asked).toFixed(3),
  ]
    .map((cell) => cell.padStart(8))
    .join(' |')
}

const [argument, part = '', beside = '0', quota = '1'] = process.argv.slice(2)
if (process.send !== undefined && argument !== undefined) {
  await serve(JSON.parse(argument) as Row)
} else {
  const seconds = Number(argument ?? 5)
  const others = Array.from({ length: Number(beside) }, () =>
    spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }),
  )
  for (const { pid } of others) if (pid !== undefined) setPriority(pid, 0)
  console.log(`${''.padEnd(30)} |  served |  p50 ms |  p99 ms |    shed |  unsent |     CPU`)
  try {
    for (const row of ROWS)
      if (row.name.includes(part))
        console.log(`${row.name.padEnd(30)} |${await measure(row, seconds, Number(quota), others.length === 0)}`)
  } finally {
    for (const other of others) other.kill()
  }
}
