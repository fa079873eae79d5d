import { FairQueue, type FairQueueOptions } from '@fairlead/core/queue'
import PQueue from 'p-queue'
import { flowNames } from './flow-names.js'
import { costOf } from './measure.js'
import { printTable } from './table.js'

/**
 * Cost of a request that waits for its turn: enqueue and dequeue, while a number of others wait, beside p-queue, which
 * knows no flows. p-queue has no bare queue to call: its figure is a whole task, with its promise.
 *
 * A `Map` alone shows what the names cost by themselves. The flows come in a shuffled order, one request each,
 * repeatedly. An argument selects the forms whose names begin with it.
 */
const WAITING = [64, 1_000, 100_000]
const FLOWS = [100, 10_000, 1_000_000]
const TASKS = 200_000

const forms: readonly [string, FairQueueOptions][] = [
  ['perFlow', {}],
  ['perFlow, refuse', { overflow: 'refuse' }],
  ['64 hashed queues', { queues: 64 }],
]

function enqueueAndDequeue(options: FairQueueOptions, waiting: number, names: readonly string[]) {
  const queue = new FairQueue<number>({ ...options, perFlowLimit: 1e6, maxWaiting: 1e6 })
  for (let i = 0; i < waiting; i++) queue.enqueue(names[i % names.length]!, i)
  return (flow: string) => {
    queue.enqueue(flow, 0)
    return queue.dequeue()
  }
}

/** The least that a record for each waiting flow costs: in a `Map`, and out of it again. */
function inAndOut(waiting: number, names: readonly string[]): (flow: string) => void {
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

/** Nanoseconds per task of a p-queue in which `waiting` tasks wait: each adds its successor and ends. */
async function taskOfPQueue(waiting: number): Promise<number> {
  const queue = new PQueue({ concurrency: 1, autoStart: false })
  let left = TASKS
  const task = (): void => {
    if (left-- > 0) void queue.add(task)
  }
  for (let i = 0; i < waiting; i++) void queue.add(task)
  const start = performance.now()
  queue.start()
  await queue.onIdle()
  return ((performance.now() - start) * 1e6) / (TASKS + waiting)
}

const [, , picked = ''] = process.argv
const rows: string[][] = []
for (const flows of FLOWS) {
  const names = flowNames(flows)
  for (const [form, options] of forms.filter(([name]) => name.startsWith(picked))) {
    const row = [form, flows.toLocaleString('en')]
    for (const waiting of WAITING)
      row.push((await costOf(enqueueAndDequeue(options, waiting, names), names)).ns.toFixed(0))
    rows.push(row)
  }
  const least = ['a `Map` alone', flows.toLocaleString('en')]
  for (const waiting of WAITING) least.push((await costOf(inAndOut(waiting, names), names)).ns.toFixed(0))
  rows.push(least)
}
const tasks = ['p-queue, a task', '-']
for (const waiting of WAITING) {
  const runs: number[] = []
  for (let run = 0; run < 5; run++) runs.push(await taskOfPQueue(waiting))
  tasks.push(runs.sort((x, y) => x - y)[2]!.toFixed(0))
}
rows.push(tasks)

printTable(['ns per request', 'flows', ...WAITING.map((each) => `${each.toLocaleString('en')} waiting`)], rows)
