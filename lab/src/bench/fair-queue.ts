/**
 * Cost of a request that waits for its turn: enqueue and dequeue, while a number of others wait, beside the least that
 * can be done with its flow's name, and p-queue, which knows no flows.
 *
 *     pnpm bench:queue [forms]
 *
 * All forms run in turn, slice by slice, so that other load on the machine affects all of them alike; each figure is the
 * median of the quieter half of its slices, of CPU time. Before each slice the form runs as long unmeasured, because the
 * others have used the caches since. The flows come in a shuffled order, one request each, repeatedly. An argument
 * selects the forms whose names begin with it. p-queue has no bare queue to call: its figure is a whole task, with its
 * promise.
 */
import { FairQueue, type FairQueueOptions } from '@fairlead/core/queue'
import PQueue from 'p-queue'
import { flowNames } from './flow-names.js'
import { printTable } from './table.js'

const WAITING = [64, 1_000, 100_000]
const FLOWS = [100, 10_000, 1_000_000]
const CALLS = 20_000
const SLICES = 20
const WARM_UP_SLICES = 6

type Request = (flow: string) => unknown

function enqueueAndDequeue(options: FairQueueOptions) {
  return (waiting: number, names: readonly string[]): Request => {
    const queue = new FairQueue<number>({ ...options, perFlowLimit: 1e6, maxWaiting: 1e6 })
    for (let i = 0; i < waiting; i++) queue.enqueue(names[i % names.length]!, i)
    return (flow) => {
      queue.enqueue(flow, 0)
      return queue.dequeue()
    }
  }
}

/** The least that a record for each waiting flow costs: in a `Map`, and out of it again. */
function inAndOut(waiting: number, names: readonly string[]): Request {
  const records = new Map<string, object>()
  const line = Array.from({ length: waiting }, (_, i) => names[i % names.length]!)
  let at = 0
  return (flow) => {
    if (!records.has(flow)) records.set(flow, {})
    records.delete(line[at]!)
    line[at] = flow
    at = at + 1 === waiting ? 0 : at + 1
  }
}

/** The least that a hash costs: the characters of the name, and an entry of an array. */
function charactersAndEntry(): Request {
  const entries = new Int32Array(64)
  return (flow) => {
    let sum = 0
    for (let i = 0; i < flow.length; i++) sum = (31 * sum + flow.charCodeAt(i)) | 0
    entries[sum & 63]!++
  }
}

const forms: readonly [string, (waiting: number, names: readonly string[]) => Request][] = [
  ['perFlow', enqueueAndDequeue({})],
  ['perFlow, refuse', enqueueAndDequeue({ overflow: 'refuse' })],
  ['64 hashed queues', enqueueAndDequeue({ queues: 64 })],
  ['a `Map` alone', inAndOut],
  ['characters and an entry', charactersAndEntry],
]

type Slice = () => void | Promise<void>

function sliceOf(request: Request, names: readonly string[]): Slice {
  let at = 0
  return () => {
    for (let i = 0; i < CALLS; i++) {
      at = at + 1 === names.length ? 0 : at + 1
      request(names[at]!)
    }
  }
}

/** A p-queue in which `waiting` tasks wait: each adds its successor and ends. */
function sliceOfPQueue(waiting: number): Slice {
  const queue = new PQueue({ concurrency: 1 })
  let left = 0
  let ended = (): void => {}
  const task = (): void => {
    void queue.add(task)
    if (--left > 0) return
    queue.pause()
    ended()
  }
  queue.pause()
  for (let i = 0; i < waiting; i++) void queue.add(task)
  return () =>
    new Promise((resolve) => {
      ended = resolve
      left = CALLS
      queue.start()
    })
}

/** CPU time of the process per call, in nanoseconds. */
async function nsOf(slice: Slice): Promise<number> {
  await slice()
  const before = process.cpuUsage()
  await slice()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1e3) / CALLS
}

async function figuresOf(slices: readonly Slice[]): Promise<readonly string[]> {
  const ns = slices.map((): number[] => [])
  for (let i = -WARM_UP_SLICES; i < SLICES; i++)
    for (const [k, slice] of slices.entries()) {
      const cost = await nsOf(slice)
      if (i >= 0) ns[k]!.push(cost)
    }
  return ns.map((all) => all.toSorted((a, b) => a - b)[SLICES >> 2]!.toFixed(0))
}

const [, , picked = ''] = process.argv
const chosen = forms.filter(([name]) => name.startsWith(picked))
const rows = FLOWS.flatMap((flows) => chosen.map(([name]): string[] => [name, flows.toLocaleString('en')]))
const tasks = ['p-queue, a task', '-']
for (const waiting of WAITING)
  for (const [f, flows] of FLOWS.entries()) {
    const names = flowNames(flows)
    const slices = chosen.map(([, make]) => sliceOf(make(waiting, names), names))
    if (f === 0) slices.push(sliceOfPQueue(waiting))
    const figures = await figuresOf(slices)
    for (const k of chosen.keys()) rows[f * chosen.length + k]!.push(figures[k]!)
    if (f === 0) tasks.push(figures.at(-1)!)
  }
rows.push(tasks)

printTable(['ns per request', 'flows', ...WAITING.map((each) => `${each.toLocaleString('en')} waiting`)], rows)
