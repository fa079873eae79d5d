import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import PQueue from 'p-queue'
import type { Figure, Findings, Table, Tell } from './figure.js'

/** The task of a thread. */
export interface Order {
  readonly name: string
  /** Includes a row for each seed. */
  readonly seeds: boolean
}

/** A figure as a thread made it. */
export interface Result {
  readonly findings: Findings
  readonly bySeed: readonly Table[]
  /** Duration of the findings, without those of single seeds. */
  readonly seconds: number
}

/** Messages of a thread, the result last. */
export type Message = { readonly step: string } | { readonly result: Result }

const WORKER = new URL('./worker.js', import.meta.url)

/**
 * Makes the figures on as many threads as there are processors; yields them in order, each as soon as it and those
 * before it are ready. Rejects with the error of a figure.
 */
export async function* makeAll(figures: readonly Figure[], seeds: boolean, tell: Tell): AsyncGenerator<Result> {
  const queue = new PQueue({ concurrency: availableParallelism() })
  const results = figures.map(({ name }) => queue.add(() => make({ name, seeds }, (step) => tell(`${name}: ${step}`))))
  // An error of a later figure is reported when its turn comes.
  for (const result of results) result.catch(() => {})
  yield* results
}

function make(order: Order, tell: Tell): Promise<Result> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: order })
    worker.on('error', reject)
    worker.on('message', (message: Message) => {
      if ('step' in message) tell(message.step)
      else resolve(message.result)
    })
  })
}
