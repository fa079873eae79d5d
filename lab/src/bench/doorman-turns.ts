/**
 * How long one call keeps all others waiting at a Doorman server with 100 000 clients: the longest turn of its event
 * loop while it is called on every port, is reconfigured, loses its mastership, or finds that all clients are gone.
 *
 *     node lab/dist/bench/doorman-turns.js [--runs 9] [--only part of a row's name]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CapacityService, overHttp } from '@fairlead/core/doorman'
import { overGrpc, startDoorman } from '@fairlead/doorman'
import type { Order, Served } from './doorman-turns-process.js'
import { machine } from './report/machine.js'
import { publish } from './report/publish.js'
import type { Section } from './report/section.js'

/** Most clients in one request: the limit of a server. */
const MOST_RESOURCES = 1_000
/** Longer than the interval at which the server reads its configuration file, in milliseconds. */
const READ_MS = 800
/** Long enough for work that a call has deferred, in milliseconds. */
const REST_MS = 300

/** A server, and the distribution of its clients over resources. */
class World {
  readonly name: string
  readonly resources: number
  readonly folder: string
  readonly process: ChildProcess
  readonly served: Served
  readonly grpc: ReturnType<typeof overGrpc>
  readonly node: CapacityService
  readonly overJson: CapacityService
  newcomers = 0
  #capacity: number

  private constructor(name: string, resources: number, folder: string, child: ChildProcess, served: Served) {
    this.name = name
    this.resources = resources
    this.folder = folder
    this.process = child
    this.#capacity = capacityOf(resources)
    this.served = served
    this.grpc = overGrpc({ address: served.address })
    this.node = this.grpc.connect()
    this.overJson = overHttp({ url: served.httpUrl }).connect()
  }

  static async with(name: string, resources: number, parent?: string): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'doorman-turns-'))
    const config = join(folder, 'doorman.yaml')
    await writeFile(config, yaml(capacityOf(resources), 'FAIR_SHARE', 1))
    const path = fileURLToPath(new URL('./doorman-turns-process.js', import.meta.url))
    const args = [config, `${resources}`, ...(parent === undefined ? [] : [parent])]
    const child = fork(path, args, { env: { ...process.env, NODE_ENV: 'production' } })
    const [served] = (await once(child, 'message')) as [Served]
    const world = new World(name, resources, folder, child, served)
    await world.tell({ kind: 'fill' })
    return world
  }

  async tell(order: Order): Promise<number> {
    const answer = once(this.process, 'message') as Promise<[number]>
    this.process.send(order)
    return (await answer)[0]
  }

  /** Replaces the configuration file atomically: a reader sees either the old or the new content. */
  async configure(kind = 'FAIR_SHARE', templates = 1): Promise<void> {
    const config = join(this.folder, 'doorman.yaml')
    await writeFile(`${config}.new`, yaml(this.#capacity, kind, templates))
    await rename(`${config}.new`, config)
    await sleep(READ_MS)
  }

  cut(factor: number): Promise<void> {
    this.#capacity *= factor
    return this.configure()
  }

  newcomer(): string {
    return `newcomer-${this.newcomers++}`
  }

  /** As many resources as a request may name. */
  ids(): string[] {
    return Array.from({ length: Math.min(this.resources, MOST_RESOURCES) }, (_, i) => `resource-${i}`)
  }

  async end(): Promise<void> {
    this.grpc.close()
    this.process.disconnect()
    await rm(this.folder, { recursive: true })
  }
}

/** Capacity of each resource: a fifth of the total that its clients want. */
function capacityOf(resources: number): number {
  return 1_000_000 / resources
}

function yaml(capacity: number, kind: string, templates: number): string {
  const entry = (glob: string): string =>
    `  - identifier_glob: "${glob}"\n    capacity: ${capacity}\n` +
    `    algorithm: { kind: ${kind}, lease_length: 300, refresh_interval: 16 }\n`
  const names = Array.from({ length: templates - 1 }, (_, i) => `resource-${i}-*-${'x'.repeat(20)}`)
  return `resources:\n${[...names, '*'].map(entry).join('')}`
}

function bulk(world: World, clientId: string): Parameters<CapacityService['getCapacity']>[0] {
  return { clientId, resource: world.ids().map((resourceId) => ({ resourceId, priority: 0, wants: 50 })) }
}

async function read(url: string): Promise<void> {
  await (await fetch(url)).text()
}

/** One measurement. `before` and `after`, which restores the initial state, are not measured. */
interface Row {
  readonly name: string
  before?(world: World): Promise<unknown>
  during(world: World): Promise<unknown>
  after?(world: World): Promise<unknown>
}

let released = ''

const refilled = { after: (world: World) => world.tell({ kind: 'fill' }) }

const ROWS: readonly Row[] = [
  { name: 'nothing', during: () => sleep(REST_MS) },
  {
    name: 'GetCapacity over gRPC, a thousand resources',
    during: (w) => w.node.getCapacity(bulk(w, w.newcomer()))! as Promise<unknown>,
  },
  {
    name: 'GetCapacity as JSON, a thousand resources',
    during: (w) => w.overJson.getCapacity(bulk(w, w.newcomer())) as Promise<unknown>,
  },
  {
    name: 'GetServerCapacity, a thousand resources',
    during: async (w) => {
      const wants = Array.from({ length: 32 }, (_, i) => ({ priority: 0, numClients: 10, wants: 10 * i }))
      const resource = w
        .ids()
        .slice(0, 200)
        .map((resourceId) => ({ resourceId, wants }))
      await w.node.getServerCapacity({ serverId: w.newcomer(), resource })
    },
  },
  {
    name: 'ReleaseCapacity, a thousand resources',
    before: async (w) => {
      released = w.newcomer()
      await w.node.getCapacity(bulk(w, released))
    },
    during: (w) => w.node.releaseCapacity({ clientId: released, resourceId: w.ids() }) as Promise<unknown>,
  },
  { name: 'Discovery', during: (w) => w.node.discovery({}) as Promise<unknown> },
  { name: '/metrics', during: (w) => read(`${w.served.debugUrl}/metrics`) },
  { name: 'the status page', during: (w) => read(w.served.debugUrl) },
  { name: 'the page of one resource', during: (w) => read(`${w.served.debugUrl}/?resource=resource-0`) },
  { name: 'history', during: () => sleep(5_200) },
  { name: 'a capacity cut by 30 %', during: (w) => w.cut(0.7) },
  {
    name: 'another algorithm',
    during: (w) => w.configure('PROPORTIONAL_SHARE'),
    after: (w) => w.configure(),
  },
  {
    name: 'a configuration of a thousand entries',
    during: (w) => w.configure('FAIR_SHARE', 1_000),
    after: (w) => w.configure(),
  },
  {
    name: 'a wall clock that is corrected',
    during: async (w) => {
      await w.tell({ kind: 'correct', ms: 2_000 })
      await w.node.getCapacity({
        clientId: w.newcomer(),
        resource: [{ resourceId: 'resource-0', priority: 0, wants: 1 }],
      })
      await sleep(REST_MS)
    },
  },
  {
    name: 'mastership lost, and won',
    ...refilled,
    during: async (w) => {
      await w.tell({ kind: 'lose' })
      await w.tell({ kind: 'win' })
      await sleep(REST_MS)
    },
  },
  {
    name: 'all leases end at once',
    ...refilled,
    during: async (w) => {
      await w.tell({ kind: 'jump', ms: 1_000_000 })
      await w.node.getCapacity({
        clientId: w.newcomer(),
        resource: [{ resourceId: 'resource-0', priority: 0, wants: 1 }],
      })
      await sleep(3_000)
    },
  },
]

async function longest({ before, during, after }: Row, world: World): Promise<number> {
  await before?.(world)
  await world.tell({ kind: 'watch' })
  await during(world)
  await sleep(REST_MS)
  const ms = await world.tell({ kind: 'longest' })
  await after?.(world)
  return ms
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '9' },
    only: { type: 'string', default: '' },
    save: { type: 'boolean', default: false },
  },
})
const runs = Number(values.runs)
const rows = ROWS.filter(({ name }) => name.includes(values.only))

const algorithm = { kind: 'FAIR_SHARE' as const, leaseLength: 300, refreshInterval: 16, parameters: [] }
const root = await startDoorman({
  config: { resources: [{ identifierGlob: '*', capacity: capacityOf(10_000), algorithm }] },
  fresh: true,
  hostname: '127.0.0.1',
})
const table: string[][] = rows.map(({ name }) => [name])
for (const [name, resources, parent] of [
  ['one resource', 1, undefined],
  ['10 000 resources', 10_000, undefined],
  ['10 000 resources below a parent', 10_000, root.address],
] as const) {
  const world = await World.with(name, resources, parent)
  for (const [at, row] of rows.entries()) {
    const took: number[] = []
    for (let run = 0; run < runs; run++) took.push(await longest(row, world))
    took.sort((a, b) => a - b)
    table[at]!.push(`${took[runs >> 1]!.toFixed(1)} (${took.at(-1)!.toFixed(1)})`)
    console.log(name, '|', row.name, table[at]!.at(-1))
  }
  await world.end()
}
await root.close()

const section: Section = {
  file: 'bench-doorman-turns',
  title: 'The longest turn of a Doorman server',
  about: [
    'A server with 100,000 clients, at one resource or ten at each of 10,000. The longest turn of its event loop during ' +
      'requests, inspection and changes: no other request is answered in a turn. In CPU time of its thread, to 4 ms, ' +
      `garbage collection included. Medians of ${runs} runs, and in brackets the longest.`,
  ],
  tables: [
    {
      id: 'turns',
      title: 'ms of the longest turn',
      head: ['', 'one resource', '10,000', 'the same below a parent'],
      rows: table,
    },
  ],
  remarks: [],
}
await publish(section, machine(), values.save)
