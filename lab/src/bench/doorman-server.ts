/**
 * Number of GetCapacity calls that a Doorman server answers per second, and their latency, beside a gRPC server that
 * answers constants: 16 calls in flight on one connection; each client in turn brings its lease and asks for a new
 * amount; in overload, every resource by exact FAIR_SHARE.
 *
 * All servers run at once, each in a process of its own, and are loaded in turn, round after round, so that other load
 * on the machine affects all of them alike.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { WIRE_REQUEST, WIRE_RESPONSE } from './doorman-wire.js'
import { flowNames } from './flow-names.js'
import type { Usage } from './http/serve.js'
import { machine } from './report/machine.js'
import { publish } from './report/publish.js'
import type { Section } from './report/section.js'

const SIZES = [1_000, 10_000]
const IN_FLIGHT = 16

/** A server under load, and the leases of its clients. */
interface Target {
  readonly kind: 'stub' | 'doorman'
  readonly size: number
  readonly process: ChildProcess
  readonly session: ClientHttp2Session
  readonly clients: { id: string; has: object | undefined }[]
  next: number
  readonly rounds: { perSecond: number; p99Ms: number; cpuUs: number }[]
}

const HEADERS = {
  ':method': 'POST',
  ':path': '/doorman.Capacity/GetCapacity',
  'content-type': 'application/grpc',
  te: 'trailers',
}
const FRAME_HEAD = 5

/** One call: asks for the next client, and remembers its lease. Rejects if the answer is not a lease. */
function ask(target: Target): Promise<void> {
  const client = target.clients[target.next++ % target.clients.length]!
  const resource = [{ resourceId: 'r', priority: 0, wants: 21 + 90 * Math.random(), has: client.has }]
  const message = WIRE_REQUEST.encode({ clientId: client.id, resource }).finish()
  const frame = Buffer.allocUnsafe(FRAME_HEAD + message.length)
  frame[0] = 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, FRAME_HEAD)
  return new Promise((resolve, reject) => {
    const stream = target.session.request(HEADERS)
    const chunks: Buffer[] = []
    let status: unknown
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('trailers', (trailers) => {
      status = trailers['grpc-status']
    })
    stream.on('error', reject)
    stream.on('end', () => {
      const answer = Buffer.concat(chunks)
      const decoded = WIRE_RESPONSE.toObject(WIRE_RESPONSE.decode(answer.subarray(FRAME_HEAD)), { longs: Number })
      client.has = decoded['response']?.[0]?.gets
      if (status === '0' && client.has !== undefined) resolve()
      else reject(new Error(`no lease: grpc-status ${String(status)}`))
    })
    stream.end(frame)
  })
}

/** Makes `calls` calls, {@link IN_FLIGHT} at a time; returns the duration of each, in milliseconds. */
async function load(target: Target, calls: number): Promise<number[]> {
  const tookMs: number[] = []
  let left = calls
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const startMs = performance.now()
      await ask(target)
      tookMs.push(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, one))
  return tookMs
}

async function start(kind: Target['kind'], size: number): Promise<Target> {
  const path = fileURLToPath(new URL('./doorman-server-process.js', import.meta.url))
  const child = fork(path, [kind, `${size}`], { env: { ...process.env, NODE_ENV: 'production' } })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const clients = flowNames(size).map((id) => ({ id, has: undefined }))
  return { kind, size, process: child, session: connect(`http://127.0.0.1:${port}`), clients, next: 0, rounds: [] }
}

async function cpuUs(target: Target): Promise<number> {
  const answer = once(target.process, 'message') as Promise<[Usage]>
  target.process.send('usage')
  const [usage] = await answer
  return usage.cpuUs
}

async function round(target: Target, calls: number): Promise<void> {
  const before = await cpuUs(target)
  const startMs = performance.now()
  const tookMs = (await load(target, calls)).toSorted((a, b) => a - b)
  const perSecond = (calls * 1_000) / (performance.now() - startMs)
  const used = ((await cpuUs(target)) - before) / calls
  target.rounds.push({ perSecond, p99Ms: tookMs[Math.floor(0.99 * calls)]!, cpuUs: used })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    calls: { type: 'string', default: '10000' },
    save: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const calls = Number(values.calls)
const targets: Target[] = []
for (const size of SIZES) for (const kind of ['stub', 'doorman'] as const) targets.push(await start(kind, size))
// Every client has a lease, and the code is compiled.
for (const target of targets) await load(target, 2 * Math.max(target.size, calls))
for (let i = 0; i < rounds; i++) for (const target of targets) await round(target, calls)
for (const { session, process: child } of targets) {
  session.close()
  child.disconnect()
}

/** A target's median of its rounds. */
function column({ rounds }: Target, name: 'perSecond' | 'p99Ms' | 'cpuUs'): number {
  return median(rounds.map((one) => one[name]))
}

const section: Section = {
  file: 'bench-doorman-server',
  title: 'A call to a Doorman server',
  about: [
    `GetCapacity over gRPC, ${IN_FLIGHT} calls in flight on one connection. All clients share one \`FAIR_SHARE\` resource ` +
      'that is short, ask in turn, and want a new amount each time. Beside it a gRPC server that answers constants, ' +
      `loaded in turn with ours. Medians of ${rounds} rounds of ${calls} calls each.`,
  ],
  tables: [
    {
      id: 'calls',
      title: 'Calls that one server answers',
      head: ['clients', 'calls/s', 'of that server’s', 'p99, ms', 'CPU per call, µs', 'that server’s'],
      rows: SIZES.map((size) => {
        const [stub, ours] = targets.filter((target) => target.size === size)
        // Round by round, because neighbouring rounds saw the same load on the machine.
        const ratios = ours!.rounds.map(({ perSecond }, at) => perSecond / stub!.rounds[at]!.perSecond)
        return [
          size.toLocaleString('en'),
          column(ours!, 'perSecond').toFixed(0),
          median(ratios).toFixed(2),
          column(ours!, 'p99Ms').toFixed(1),
          column(ours!, 'cpuUs').toFixed(0),
          column(stub!, 'cpuUs').toFixed(0),
        ]
      }),
    },
  ],
  remarks: [],
}
await publish(section, machine(), values.save)
