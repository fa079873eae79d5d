/**
 * Cost of a task in `fairLimit`, beside libraries that know no flows, the least that a fair line can do, and the task
 * without any.
 *
 *     pnpm bench:limit [slices]
 *
 * One process runs all in turn, slice by slice, so that other load on the machine affects all of them alike;
 * ratios are medians over rounds, of CPU time. A task awaits one promise and ends; each finished task is submitted
 * again, so that the number of waiting tasks is constant. Promises are counted by the engine's own hook, and bytes on
 * the heap in separate slices.
 */
import { getHeapStatistics, promiseHooks } from 'node:v8'
import { FairQueue } from '@fairlead/core/queue'
import { flowNames } from './flow-names.js'
import { LINES } from './jobs/queues.js'
import { printTable } from './table.js'

const WAITING = [0, 100, 1_000]
const TASKS = 20_000
const WARM_UP_SLICES = 6
const NAMES = ['`fairLimit`', 'p-queue,', 'p-queue with', 'p-limit', 'async-sema', 'no line']

type Run = (flow: string, task: () => Promise<void>) => Promise<unknown>

/** A counter and a promise around the fair queue: no priorities, signals, time limits or shares of the slots. */
function fairQueueAlone(): Run {
  const queue = new FairQueue<() => void>({ maxWaiting: 1_000_000, perFlowLimit: 1_000_000 })
  let running = 0
  return async (flow, task) => {
    if (running === 0) running++
    else await new Promise<void>((resolve) => queue.enqueue(flow, resolve))
    try {
      await task()
    } finally {
      const next = queue.dequeue()
      if (next === undefined) running--
      else next.item()
    }
  }
}

const flows = flowNames(1_000)
const kinds = NAMES.map((name) => {
  const { make } = LINES.find((line) => line.name.includes(name))!
  return {
    name: name.replace(',', ''),
    make(): Run {
      const line = make()
      return (flow, task) => line.run(flow, task)
    },
  }
})
kinds.splice(1, 0, { name: '`FairQueue` alone', make: fairQueueAlone })
const P_QUEUE = kinds.findIndex(({ name }) => name === 'p-queue')
const NO_LINE = kinds.findIndex(({ name }) => name === 'no line')

/** Runs `TASKS` tasks while `waiting` others wait. */
async function slice(run: Run, waiting: number): Promise<void> {
  let left = TASKS
  const task = async (): Promise<void> => {
    await null
    left--
  }
  const askOn = async (first: number): Promise<void> => {
    for (let at = first; left > 0; at += waiting + 1) await run(flows[at % flows.length]!, task)
  }
  await Promise.all(Array.from({ length: waiting + 1 }, (_, i) => askOn(i)))
}

/** CPU time of a slice, of all threads of the process, in nanoseconds per task. */
async function nsOf(run: Run, waiting: number): Promise<number> {
  const before = process.cpuUsage()
  await slice(run, waiting)
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1e3) / TASKS
}

async function promisesOf(run: Run, waiting: number): Promise<number> {
  let promises = 0
  const stop = promiseHooks.onInit(() => promises++)
  await slice(run, waiting)
  Reflect.apply(stop, undefined, [])
  return promises / TASKS
}

/** The least of three slices: a collection may occur in one. */
async function bytesOf(run: Run, waiting: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    const before = getHeapStatistics().used_heap_size
    await slice(run, waiting)
    least = Math.min(least, (getHeapStatistics().used_heap_size - before) / TASKS)
  }
  return Math.max(0, least)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

const slices = Number(process.argv[2] ?? 15)
const rows: string[][] = []
for (const waiting of WAITING) {
  const runs = kinds.map(({ make }) => make())
  const ns = runs.map((): number[] => [])
  for (let i = -WARM_UP_SLICES; i < slices; i++)
    for (const [k, run] of runs.entries()) {
      const cost = await nsOf(run, waiting)
      if (i >= 0) ns[k]!.push(cost)
    }
  for (const [k, run] of runs.entries())
    rows.push([
      waiting.toLocaleString('en'),
      kinds[k]!.name,
      median(ns[k]!).toFixed(0),
      median(ns[k]!.map((own, i) => own / ns[P_QUEUE]![i]!)).toFixed(2),
      median(ns[k]!.map((own, i) => (own - ns[NO_LINE]![i]!) / (ns[P_QUEUE]![i]! - ns[NO_LINE]![i]!))).toFixed(2),
      (await promisesOf(run, waiting)).toFixed(1),
      (await bytesOf(run, waiting)).toFixed(0),
    ])
}
printTable(['wait', '', 'CPU ns', '× p-queue', 'the same without the task', 'promises', 'bytes'], rows)
process.exit()
