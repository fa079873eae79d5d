import { createGate } from '@fairlead/core'
import { fairLimit, requestQueue } from '@fairlead/core/queue'
import { Sema } from 'async-sema'
import Bottleneck from 'bottleneck'
import { bulkhead } from 'cockatiel'
import pLimit from 'p-limit'
import PQueue from 'p-queue'
import type { Party } from './limiters.js'

/** Runs one task after the other; tasks that arrive meanwhile wait. */
interface Line {
  /** Resolves when the task has run. */
  run(flow: string, task: () => Promise<void>): Promise<unknown>
  /** Discards waiting tasks. */
  close?(): void
}

export interface LineKind {
  readonly name: string
  readonly by: Party
  /** Too slow for the number of tasks in a measurement. */
  readonly slow?: boolean
  make(): Line
}

/** More than ever wait here. */
const MANY = 1_000_000
const LONG_MS = 600_000

/** One task at a time, by every library; the others are compared with the first. */
export const LINES: readonly LineKind[] = [
  {
    name: 'Fairlead: gate with `queue`, fair between flows',
    by: 'ours',
    make() {
      const queue = requestQueue({ concurrency: 1, maxWaiting: MANY, perFlowLimit: MANY, maxWaitMs: LONG_MS })
      const gate = createGate({ fair: false, queue })
      return {
        async run(flow, task) {
          const decision = await gate.admit({ flow })
          if (!decision.admitted) throw new Error(`refused: ${decision.reason}`)
          await task()
          decision.finish('success')
        },
        close: () => gate.close(),
      }
    },
  },
  {
    name: 'Fairlead: `fairLimit`, fair between flows',
    by: 'ours',
    make() {
      const limit = fairLimit({ concurrency: 1, maxWaiting: MANY, perFlowLimit: MANY, maxWaitMs: LONG_MS })
      return { run: (flow, task) => limit(flow, task), close: () => limit.close() }
    },
  },
  {
    name: 'cockatiel, `bulkhead`, first come, first served',
    by: 'peer',
    make() {
      const policy = bulkhead(1, MANY)
      return { run: (_flow, task) => policy.execute(task) }
    },
  },
  {
    name: 'p-queue, first come, first served',
    by: 'peer',
    make() {
      const queue = new PQueue({ concurrency: 1 })
      return { run: (_flow, task) => queue.add(task) }
    },
  },
  {
    name: 'p-queue with five priorities, first come, first served in each',
    by: 'peer',
    make() {
      const queue = new PQueue({ concurrency: 1 })
      return { run: (flow, task) => queue.add(task, { priority: flow.charCodeAt(flow.length - 1) % 5 }) }
    },
  },
  {
    name: 'p-limit, first come, first served',
    by: 'peer',
    make() {
      const limit = pLimit(1)
      return { run: (_flow, task) => limit(task) }
    },
  },
  {
    name: 'async-sema, first come, first served',
    by: 'peer',
    make() {
      const sema = new Sema(1)
      return {
        async run(_flow, task) {
          await sema.acquire()
          try {
            await task()
          } finally {
            sema.release()
          }
        },
      }
    },
  },
  {
    name: 'bottleneck, first come, first served',
    by: 'peer',
    slow: true,
    make() {
      const limiter = new Bottleneck({ maxConcurrent: 1 })
      return {
        run: (_flow, task) => limiter.schedule(task),
        close: () => void limiter.stop({ dropWaitingJobs: true }).catch(() => {}),
      }
    },
  },
  { name: 'no line: the task and the bench itself', by: 'floor', make: () => ({ run: (_flow, task) => task() }) },
]
