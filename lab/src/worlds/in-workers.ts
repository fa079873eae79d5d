import { availableParallelism } from 'node:os'
import { parentPort, Worker } from 'node:worker_threads'
import type { Trial } from './trial.js'

/** Tries the worlds of these seeds on all processors, in workers of `module` with `workerData`. */
export async function tryInWorkers(module: string, workerData: unknown, first: number, last: number): Promise<Trial[]> {
  const trials: Trial[] = []
  let next = first
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL(module), { workerData })
      const more = (): void => {
        if (next <= last) worker.postMessage(next++)
        else worker.terminate().then(() => resolve(), reject)
      }
      worker.on('error', reject)
      worker.on('message', (trial: Trial) => {
        trials.push(trial)
        more()
      })
      more()
    })
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return trials.sort((a, b) => a.seed - b.seed)
}

/** In such a worker: answers each seed. */
export function answerSeeds(tryOne: (seed: number) => Trial): void {
  parentPort?.on('message', (seed: number) => parentPort?.postMessage(tryOne(seed)))
}
