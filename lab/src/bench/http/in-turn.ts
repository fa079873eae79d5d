/**
 * Cost of the middleware on a machine that is shared with other load: one process serves all modes of a framework, and
 * slices of a few milliseconds go to each in turn, over connections without a network. A slice without interruption is
 * among the quickest, so the tenth percentile consists of those, and differences between modes are their own.
 *
 *     pnpm bench:http:in-turn [--framework koa] [--seconds 30] [--save]
 *
 * One process for each framework, on Node 24. Beside the default middleware are the cheapest middleware that observes
 * the end of a request, and the cheapest limiter. `--save` writes the results to `docs/benchmarks.md`.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { node24 } from '@fairlead-testing/runtimes'
import { machine } from '../report/machine.js'
import { publish } from '../report/publish.js'
import { type Framework, serverOf } from './framework.js'
import { CONNECTIONS, FLOWS, REQUESTS } from './load.js'

const FRAMEWORKS = ['express', 'fastify', 'koa', 'hono', 'nest-express', 'nest-fastify']
/** The cheapest modes that observe ends, by name. */
const FLOORS = ['counts close', 'empty interceptor']
const OURS = 'fairlead, default'
/** Limiters that keep counts for each key. */
const LIMITER = /^(?!fairlead).*, by /
/** Requests on each connection in a slice. */
const ROUNDS = 5
const WARM_UP_ROUNDS = 2_000
const QUIET = 0.1

/** Cost of one mode, in microseconds per request. */
interface Told {
  readonly mode: string
  readonly us: number
}

/** A connection without a network: pushed data has arrived, and written data has been sent. */
class Connection extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly bytesRead = 0
  readonly bytesWritten = 0
  readonly #answered: () => void

  constructor(answered: () => void) {
    super({ decodeStrings: false })
    this.#answered = answered
  }

  override _read(): void {}

  /** All servers send their small answer at once. */
  override _write(_chunk: unknown, _encoding: string, written: () => void): void {
    this.#answered()
    written()
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }
}

/** A mode of the framework, with persistent connections. */
class Course {
  readonly mode: string
  readonly #connections: readonly Connection[]
  readonly #slicesUs: number[] = []
  #left = 0
  #next = 0
  #answered: () => void = () => {}

  constructor(mode: string, port: number) {
    this.mode = mode
    this.#connections = Array.from({ length: CONNECTIONS }, () => {
      const connection = new Connection(() => --this.#left === 0 && this.#answered())
      serverOf(port).emit('connection', connection)
      return connection
    })
  }

  /** One request on each connection. */
  async round(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#answered = resolve
      this.#left = CONNECTIONS
      for (const connection of this.#connections) connection.push(REQUESTS[this.#next++ % REQUESTS.length]!)
    })
    // Work that responses do after their last byte belongs to them.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  async slice(): Promise<void> {
    // The first round after other modes finds caches and branch predictors filled by them.
    await this.round()
    const startMs = performance.now()
    for (let i = 0; i < ROUNDS; i++) await this.round()
    this.#slicesUs.push((1_000 * (performance.now() - startMs)) / (ROUNDS * CONNECTIONS))
  }

  get us(): number {
    return this.#slicesUs.sort((a, b) => a - b)[Math.floor(QUIET * this.#slicesUs.length)]!
  }
}

async function measure(framework: Framework, seconds: number): Promise<Told[]> {
  const courses: Course[] = []
  for (const mode of framework.modes)
    if (mode === framework.modes[0] || mode === OURS || FLOORS.includes(mode) || LIMITER.test(mode))
      courses.push(new Course(mode, await framework.serve(mode)))
  for (let i = 0; i < WARM_UP_ROUNDS; i++) for (const course of courses) await course.round()
  const untilMs = performance.now() + 1_000 * seconds
  while (performance.now() < untilMs) for (const course of courses) await course.slice()
  return courses.map(({ mode, us }) => ({ mode, us }))
}

const frameworkOf = async (name: string): Promise<Framework> =>
  ((await import(`./${name}.js`)) as { framework: Framework }).framework

const { values } = parseArgs({
  options: {
    framework: { type: 'string', multiple: true, default: FRAMEWORKS },
    seconds: { type: 'string', default: '30' },
    save: { type: 'boolean', default: false },
  },
})
const seconds = Number(values.seconds)
if (process.send !== undefined) {
  process.send(await measure(await frameworkOf(values.framework[0]!), seconds))
  process.disconnect()
  process.exit()
}

const rows: string[][] = []
for (const name of values.framework) {
  const child = fork(fileURLToPath(import.meta.url), ['--framework', name, '--seconds', `${seconds}`], {
    execPath: node24 ?? process.execPath,
    execArgv: ['--max-semi-space-size=128'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const [told] = (await once(child, 'message')) as [Told[]]
  const { title, goalUs } = await frameworkOf(name)
  const usOf = (mode: string): number => told.find((one) => one.mode === mode)?.us ?? Number.NaN
  const bareUs = told[0]!.us
  const floorUs = Math.max(...told.filter(({ mode }) => FLOORS.includes(mode)).map(({ us }) => us))
  const ourUs = usOf(OURS)
  const limiterUs = Math.min(...told.filter(({ mode }) => LIMITER.test(mode)).map(({ us }) => us))
  const figures = [bareUs, floorUs - bareUs, ourUs - bareUs, goalUs, ourUs - floorUs, limiterUs - bareUs]
  rows.push([title, ...figures.map((us) => us.toFixed(1))])
}
await publish(
  {
    file: 'bench-http-in-turn',
    title: 'A request, in one process',
    about: [
      `The small JSON route again, ${FLOWS.toLocaleString('en')} flows, with one process for each framework, which serves ` +
        `all modes over ${CONNECTIONS} connections without a network, in turn, in slices of ` +
        `${ROUNDS * CONNECTIONS} requests. A slice without interruption is among the quickest: these are tenth ` +
        'percentiles, and hold on a machine that does other work as well. The least is the cost of observing the end ' +
        'of each request: a listener and a set; in Nest an interceptor that does nothing. The limiter is the cheapest ' +
        "one by key in the framework's tables above; it observes no ends.",
    ],
    tables: [
      {
        title: 'Time of a request, in microseconds',
        head: [
          '',
          'bare',
          'the least, above bare',
          'fairlead, above bare',
          'goal',
          'fairlead, above the least',
          'cheapest limiter, above bare',
        ],
        rows,
      },
    ],
    remarks: [],
  },
  machine(execFileSync(node24 ?? process.execPath, ['--version'], { encoding: 'utf8' }).trim()),
  values.save,
)
