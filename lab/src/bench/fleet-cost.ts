// What sharing a clock costs each of two processes that have 1000 requests a second, of which the resource serves 750:
// processor time beyond that of a process on its own, and bytes on its sockets, by each way to the arbiter. Eighteen
// quiet flows ask for 45 % of them, two loud ones for the rest.
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type ClockLink, createGate, type GateOptions } from '@fairlead/core'
import { type Algorithm, doormanFleet } from '@fairlead/core/doorman'
import { fleetOverGrpc, startDoorman } from '@fairlead/doorman'
import { redisFleet } from '@fairlead/redis'
import { withRedisUrl } from '@fairlead-testing/servers'
import { createClient } from 'redis'
import { printTable } from './table.js'

const WAYS = ['on its own', 'cluster', 'Doorman, HTTP', 'Doorman, gRPC', 'Redis'] as const
type Way = (typeof WAYS)[number]

const ALGORITHM: Algorithm = { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 5, parameters: [] }
/** With a Redis, one of them keeps the clock. */
const PROCESSES = 2
const PER_SECOND = 1_000
const CAPACITY = 750
const TICK_MS = 10
/** Until the clock is shared, and how long it is measured. */
const SETTLES_MS = 5_000
const SECONDS = Number(process.argv[2] ?? 15)

interface Said {
  readonly cpuMs: number
  readonly isShared: boolean
}

if (cluster.isPrimary) await measureAll()
else await work(process.env['WAY'] as Way, process.env['WHERE'] ?? '')

async function measureAll(): Promise<void> {
  const rows: string[][] = []
  const redis = await withRedisUrl()
  let alone = Number.NaN
  for (const way of WAYS) {
    const doorman = await startDoorman({
      config: { resources: [{ identifierGlob: '*', capacity: 100, algorithm: ALGORITHM }] },
      fresh: true,
      hostname: '127.0.0.1',
      port: 0,
      httpPort: 0,
      graceMs: 100,
    })
    const targets: Partial<Record<Way, string>> = { 'Doorman, HTTP': doorman.httpUrl ?? '', Redis: redis.url }
    const target = targets[way] === undefined ? doorman.address : new URL(targets[way]).host
    const proxy = await countingProxy(Number(target.split(':')[1]))
    const workers = Array.from({ length: PROCESSES }, () =>
      cluster.fork({ WAY: way, WHERE: `127.0.0.1:${proxy.port}` }),
    )
    await Promise.all(workers.map(heard))
    const before = proxy.bytes()
    const said = await Promise.all(workers.map(heard))
    const after = proxy.bytes()
    const cpuMs = said.reduce((sum, each) => sum + each.cpuMs / PROCESSES, 0)
    const isShared = said.every((each) => each.isShared)
    for (const worker of workers) worker.process.kill('SIGKILL')
    await Promise.all(workers.map((worker) => once(worker, 'exit')))
    proxy.close()
    await doorman.close()
    if (way === 'on its own') alone = cpuMs
    const perSecond = (bytes: number): string => (bytes / PROCESSES / SECONDS / 1_000).toFixed(2)
    const isWired = way.startsWith('Doorman') || way === 'Redis'
    rows.push([
      way,
      isShared ? 'yes' : 'no',
      ((cpuMs - alone) / SECONDS / 10).toFixed(2),
      isWired ? perSecond(after.up - before.up) : '–',
      isWired ? perSecond(after.down - before.down) : '–',
    ])
  }
  await redis.stop()
  printTable(['', 'shared', '% of a core more', 'kB/s up', 'kB/s down'], rows)
  process.exit()
}

/** Its next figures, among the messages of its clock. */
function heard(worker: Worker): Promise<Said> {
  return new Promise((resolve) => {
    const listen = (message: object): void => {
      if (!('cpuMs' in message)) return
      worker.off('message', listen)
      resolve(message as Said)
    }
    worker.on('message', listen)
  })
}

async function work(way: Way, where: string): Promise<void> {
  const fleets: Partial<Record<Way, () => ClockLink | Promise<ClockLink>>> = {
    'Doorman, HTTP': () => doormanFleet({ url: `http://${where}` }),
    'Doorman, gRPC': () => fleetOverGrpc({ address: where }),
    Redis: async () => {
      const client = createClient({ url: `redis://${where}` })
      await client.connect()
      return redisFleet(client)
    },
  }
  const fleet = await fleets[way]?.()
  const alone: GateOptions = { fair: { shared: false } }
  const gate = createGate(way === 'on its own' ? alone : { name: 'orders', ...(fleet && { fleet }) })
  let left = CAPACITY
  let at = performance.now()
  let due = 0
  let asked = 0
  setInterval(() => {
    const now = performance.now()
    left = Math.min(CAPACITY, left + ((now - at) * CAPACITY) / 1_000)
    due += ((now - at) * PER_SECOND) / 1_000
    at = now
    for (; due >= 1; due--) void ask(`flow-${asked++ % 20 < 9 ? asked % 18 : 18 + (asked % 2)}`)
  }, TICK_MS)
  async function ask(flow: string): Promise<void> {
    const permit = await gate.admit({ flow })
    if (!permit.admitted) return
    const isServed = left >= 1
    if (isServed) left--
    permit.finish(isServed ? 'success' : 'failure')
  }
  const say = (before: NodeJS.CpuUsage): void => {
    const { user, system } = process.cpuUsage(before)
    const { sharing } = gate.snapshot().stages['fair'] as { sharing: unknown }
    process.send?.({ cpuMs: (user + system) / 1_000, isShared: sharing !== null } satisfies Said)
  }
  await new Promise((resolve) => setTimeout(resolve, SETTLES_MS))
  const before = process.cpuUsage()
  say(before)
  await new Promise((resolve) => setTimeout(resolve, 1_000 * SECONDS))
  say(before)
}

/** Counts the bytes to a port, and from it. */
async function countingProxy(to: number): Promise<{
  readonly port: number
  bytes(): { up: number; down: number }
  close(): void
}> {
  const sum = { up: 0, down: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.on('data', (chunk) => {
      sum.up += chunk.length
      far.write(chunk)
    })
    far.on('data', (chunk) => {
      sum.down += chunk.length
      near.write(chunk)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => ({ ...sum }),
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
