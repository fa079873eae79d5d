import { getHeapStatistics } from 'node:v8'
import { flowNames } from '../flow-names.js'
import type { Section } from '../report/section.js'
import { behind } from './behind.js'
import type { Party } from './limiters.js'
import { LINES, type LineKind } from './queues.js'

const WAITING = [0, 100, 10_000]
/** The column for ratios and bytes. */
const TYPICAL = 100
const FLOWS = 1_000
const TASKS = 200_000
const FEW_TASKS = 200
/** Small enough that their allocations fit into the young generation, which is large here. */
const TASKS_BETWEEN_COLLECTIONS = 20_000
const RUNS = 5

/** A limit of one with a queue, beside libraries with the same function. */
export async function queue(): Promise<Section> {
  const names = flowNames(FLOWS)
  const measured: { name: string; by: Party; ns: number[]; bytes: number | undefined }[] = []
  for (const kind of LINES) {
    const ns: number[] = []
    for (const waiting of WAITING) ns.push(await nsPerTask(kind, waiting, names))
    const bytes = kind.slow ? undefined : await bytesPerTask(kind, names)
    measured.push({ name: kind.name, by: kind.by, ns, bytes })
  }
  const typical = WAITING.indexOf(TYPICAL)
  const own = measured[0]!.ns[typical]!
  return {
    file: 'bench-queue',
    title: 'A limit with a queue',
    about: [
      'One task at a time: a task arrives, waits for its turn, runs (it awaits only a resolved promise) and makes room ' +
        'for the next; each finished task enters the queue again, so that the number of waiting tasks is constant. ' +
        `${FLOWS.toLocaleString('en')} flows in turn. Medians of runs. Only Fairlead knows flows: the others serve ` +
        'in order of arrival, so a tenant that sends a thousand tasks is served a thousand times before the next. ' +
        'Fairlead also keeps a timeout with each task.',
    ],
    tables: [
      {
        title: 'Cost of a task, from its arrival to its end',
        head: [
          '',
          ...WAITING.map((count) => (count === 0 ? 'ns, none waiting' : `ns, ${count.toLocaleString('en')} wait`)),
          `bytes, ${TYPICAL} wait`,
          `× the first, ${TYPICAL} wait`,
        ],
        rows: measured.map(({ name, ns, bytes }) => [
          name,
          ...ns.map((each) => each.toFixed(0)),
          bytes === undefined ? '–' : bytes.toFixed(0),
          (ns[typical]! / own).toFixed(2),
        ]),
      },
    ],
    remarks: WAITING.flatMap((count, i) =>
      behind(
        count === 0 ? 'time, none waiting' : `time, ${count.toLocaleString('en')} wait`,
        measured.map(({ name, by, ns }) => ({ name, by, value: ns[i]! })),
      ),
    ),
  }
}

async function nsPerTask(kind: LineKind, waiting: number, names: readonly string[]): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < (kind.slow ? 1 : RUNS); run++) {
    const tasks = kind.slow ? FEW_TASKS : TASKS
    const startMs = performance.now()
    times.push(((await keepBusy(kind, waiting, tasks, names)) - startMs) / tasks)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]! * 1e6
}

/** The least of several runs: a collection may occur in one. */
async function bytesPerTask(kind: LineKind, names: readonly string[]): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    globalThis.gc?.()
    const before = getHeapStatistics().used_heap_size
    await keepBusy(kind, TYPICAL, TASKS_BETWEEN_COLLECTIONS, names)
    least = Math.min(least, getHeapStatistics().used_heap_size - before)
  }
  return Math.max(0, least) / TASKS_BETWEEN_COLLECTIONS
}

/** Runs `tasks` tasks while `waiting` others wait; resolves with the time of the last one's end. */
function keepBusy(kind: LineKind, waiting: number, tasks: number, names: readonly string[]): Promise<number> {
  const line = kind.make()
  let left = tasks
  return new Promise((resolve, reject) => {
    const task = async (): Promise<void> => {
      await null
      if (--left > 0) return
      resolve(performance.now())
    }
    const askOn = async (first: number): Promise<void> => {
      for (let at = first; left > 0; at += waiting + 1) await line.run(names[at % names.length]!, task)
    }
    for (let i = 0; i <= waiting; i++)
      askOn(i).catch((error: unknown) => {
        // Tasks that still wait at the end are rejected.
        if (left > 0) reject(error)
      })
  }).finally(() => line.close?.()) as Promise<number>
}
