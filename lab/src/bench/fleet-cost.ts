// What sharing a clock costs each of two processes that have 1000 requests a second, of which the resource serves 750:
// processor time beyond that of the same process in the round on its own of the same cycle, and bytes on its sockets, by
// each way to the arbiter. Eighteen quiet flows ask for 45 % of them, two loud ones for the rest. Who keeps the clock is
// a column of its own: the primary of a cluster, the Doorman server, or with Redis the process that comes first, beside
// what it does as a process. Medians over the cycles, with their quartiles. Arguments: cycles, and the ways if not all.
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type ClockLink, createGate, type GateOptions } from '@fairlead/core'
import { type Algorithm, doormanFleet } from '@fairlead/core/doorman'
import { fleetOverGrpc, startDoorman } from '@fairlead/doorman'
import { redisFleet } from '@fairlead/redis'
import { withRedisUrl } from '@fairlead-testing/servers'
import { createClient } from 'redis'
import { printTable } from './table.js'

const ALONE = 'on its own'
const SHARED_WAYS = ['cluster', 'Doorman, HTTP', 'Doorman, gRPC', 'Redis'] as const
type Way = typeof ALONE | (typeof SHARED_WAYS)[number]

const ALGORITHM: Algorithm = { kind: 'FAIR_SHARE', leaseLength: 60, refreshInterval: 5, parameters: [] }
const PER_SECOND = 1_000
const CAPACITY = 750
const TICK_MS = 10
/** Until the clock is shared, and the gate of the round before has fallen silent. */
const SETTLES_MS = 6_500
const MEASURED_MS = 6_000
/** The first process of a round comes this much earlier: with Redis, it keeps the clock. */
const FIRST_MS = 500
/** Cycles whose figures are those of a program that still warms up. */
const WARM_UP = 1
const CYCLES = Number(process.argv[2] ?? 10)
const WAYS = process.argv.length > 3 ? SHARED_WAYS.filter((way) => process.argv.includes(way)) : SHARED_WAYS

/** A process's processor time until now. */
interface Usage {
  readonly cpuMs: number
  readonly isShared: boolean
}

/** What a round has cost, in per cent of a core, and in kB a second and process. */
interface Round {
  readonly isShared: boolean
  readonly first: number
  readonly second: number
  readonly primary: number
  readonly doorman: number
  readonly redis: number
  readonly up: number
  readonly down: number
}

if (cluster.isPrimary) await measureAll()
else if (process.env['ROLE'] === 'doorman') await serve()
else work()

async function measureAll(): Promise<void> {
  const redis = await withRedisUrl()
  const info = await createClient({ url: redis.url }).connect()
  const redisMs = async (): Promise<number> => {
    const fields = [...(await info.info('cpu')).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)]
    return fields.reduce((sum, [, seconds]) => sum + 1_000 * Number(seconds), 0)
  }
  const doorman = cluster.fork({ ROLE: 'doorman' })
  const { address, httpUrl } = (await answered(doorman)) as { address: string; httpUrl: string }
  const hosts = { 'Doorman, HTTP': new URL(httpUrl).host, 'Doorman, gRPC': address, Redis: new URL(redis.url).host }
  const proxies = new Map<Way, Awaited<ReturnType<typeof countingProxy>>>()
  for (const [way, host] of Object.entries(hosts))
    proxies.set(way as Way, await countingProxy(Number(host.split(':')[1])))
  const workers = [cluster.fork(), cluster.fork()] as const

  const usages = async (): Promise<readonly number[]> => {
    const own = process.cpuUsage()
    const others = await Promise.all([...workers, doorman].map((each) => ask(each, 'usage') as Promise<Usage>))
    return [...others.map(({ cpuMs }) => cpuMs), (own.user + own.system) / 1_000, await redisMs()]
  }
  const round = async (way: Way): Promise<Round> => {
    const proxy = proxies.get(way)
    for (const worker of workers) {
      worker.send({ way, where: proxy && `127.0.0.1:${proxy.port}` })
      await pause(FIRST_MS)
    }
    await pause(SETTLES_MS - 2 * FIRST_MS)
    const [before, bytes] = [await usages(), proxy?.bytes()]
    await pause(MEASURED_MS)
    const [after, bytesAfter] = [await usages(), proxy?.bytes()]
    const [first, second, server, primary, store] = after.map((ms, i) => (100 * (ms - before[i]!)) / MEASURED_MS)
    const perSecond = (to: 'up' | 'down'): number =>
      ((bytesAfter?.[to] ?? Number.NaN) - (bytes?.[to] ?? 0)) / workers.length / MEASURED_MS
    const said = await Promise.all(workers.map((each) => ask(each, 'usage') as Promise<Usage>))
    return {
      isShared: said.every((each) => each.isShared),
      ...{ first: first!, second: second!, doorman: server!, primary: primary!, redis: store! },
      ...{ up: perSecond('up'), down: perSecond('down') },
    }
  }

  const cycles: Map<Way, Round>[] = []
  for (let i = 0; i < WARM_UP + CYCLES; i++) {
    const rounds = new Map<Way, Round>()
    const ways: Way[] = [ALONE, ...WAYS]
    // Each way follows each of the others.
    for (let at = 0; at < ways.length; at++) {
      const way = ways[(at + i) % ways.length]!
      rounds.set(way, await round(way))
    }
    if (i >= WARM_UP) cycles.push(rounds)
  }
  const rows = WAYS.map((way) => {
    const pairs = cycles.map((rounds) => [rounds.get(way)!, rounds.get(ALONE)!] as const)
    const more = (of: (round: Round) => number): string =>
      spread(pairs.map(([shared, alone]) => of(shared) - of(alone)))
    const byRedis = way === 'Redis'
    const bytes = (of: 'up' | 'down'): string => median(pairs.map(([shared]) => shared[of])).toFixed(2)
    return [
      way,
      pairs.every(([shared]) => shared.isShared) ? 'yes' : 'no',
      more(({ first, second }) => (byRedis ? second : (first + second) / 2)),
      more(({ first, second, primary, doorman }) => (byRedis ? first - second : way === 'cluster' ? primary : doorman)),
      byRedis ? more((each) => each.redis) : '–',
      proxies.has(way) ? bytes('up') : '–',
      proxies.has(way) ? bytes('down') : '–',
    ]
  })
  const alone = cycles.flatMap((rounds) => [rounds.get(ALONE)!.first, rounds.get(ALONE)!.second])
  console.log(`% of a core; a process on its own: ${spread(alone)}`)
  printTable(['', 'shared', 'a process', 'the arbiter', 'Redis itself', 'kB/s up', 'kB/s down'], rows)
  for (const each of [...workers, doorman]) each.process.kill('SIGKILL')
  info.destroy()
  await redis.stop()
  process.exit()
}

function spread(values: readonly number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(values, share).toFixed(2))
  return `${middle} (${low} to ${high})`
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((x, y) => x - y)
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (at % 1) * (high - low)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function ask(worker: Worker, what: string): Promise<object> {
  const answer = answered(worker)
  worker.send({ ask: what })
  return answer
}

/** Its next answer, among the messages of its clock. */
function answered(worker: Worker): Promise<object> {
  return new Promise((resolve) => {
    const listen = ({ answer }: { answer?: object }): void => {
      if (answer === undefined) return
      worker.off('message', listen)
      resolve(answer)
    }
    worker.on('message', listen)
  })
}

function usage(isShared: boolean): Usage {
  const { user, system } = process.cpuUsage()
  return { cpuMs: (user + system) / 1_000, isShared }
}

async function serve(): Promise<void> {
  const { address, httpUrl } = await startDoorman({
    config: { resources: [{ identifierGlob: '*', capacity: 100, algorithm: ALGORITHM }] },
    fresh: true,
    hostname: '127.0.0.1',
    port: 0,
    httpPort: 0,
  })
  process.on('message', ({ ask }: { ask?: string }) => ask && process.send?.({ answer: usage(false) }))
  process.send?.({ answer: { address, httpUrl } })
}

/** A fleet, and its end. */
async function fleetOf(way: Way, where: string): Promise<{ link?: ClockLink; close(): unknown }> {
  if (way === 'Redis') {
    const client = await createClient({ url: `redis://${where}` }).connect()
    const link = redisFleet(client)
    return { link, close: () => link.close().then(() => client.close()) }
  }
  if (!way.startsWith('Doorman')) return { close() {} }
  const link = way === 'Doorman, HTTP' ? doormanFleet({ url: `http://${where}` }) : fleetOverGrpc({ address: where })
  return { link, close: () => link.close() }
}

function work(): void {
  const alone: GateOptions = { fair: { shared: false } }
  let gate = createGate(alone)
  let fleet: Awaited<ReturnType<typeof fleetOf>> | undefined
  let left = CAPACITY
  let at = performance.now()
  let due = 0
  let asked = 0
  setInterval(() => {
    const now = performance.now()
    left = Math.min(CAPACITY, left + ((now - at) * CAPACITY) / 1_000)
    due += ((now - at) * PER_SECOND) / 1_000
    at = now
    for (; due >= 1; due--) void request(`flow-${asked++ % 20 < 9 ? asked % 18 : 18 + (asked % 2)}`)
  }, TICK_MS)
  async function request(flow: string): Promise<void> {
    const permit = await gate.admit({ flow })
    if (!permit.admitted) return
    const isServed = left >= 1
    if (isServed) left--
    permit.finish(isServed ? 'success' : 'failure')
  }
  async function begin(way: Way, where = ''): Promise<void> {
    fleet?.close()
    fleet = await fleetOf(way, where)
    const { link } = fleet
    gate = createGate(way === ALONE ? alone : { name: 'orders', ...(link && { fleet: link }) })
  }
  process.on('message', async ({ ask, way, where }: { ask?: string; way?: Way; where?: string }) => {
    if (way !== undefined) await begin(way, where)
    if (ask === undefined) return
    const { sharing } = gate.snapshot().stages['fair'] as { sharing?: unknown }
    process.send?.({ answer: usage(sharing !== null && sharing !== undefined) })
  })
}

/** Counts the bytes to a port, and from it. */
async function countingProxy(to: number): Promise<{ readonly port: number; bytes(): { up: number; down: number } }> {
  const sum = { up: 0, down: 0 }
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => {})
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
  return { port: (server.address() as AddressInfo).port, bytes: () => ({ ...sum }) }
}
