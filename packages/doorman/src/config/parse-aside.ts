import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** Resolved here, because what a worker is given as text stands in no folder. */
const YAML = createRequire(import.meta.url).resolve('yaml')
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
try {
  parentPort.postMessage({ document: require(workerData.yaml).parse(workerData.text) })
} catch (error) {
  parentPort.postMessage({ reason: String(error) })
}`

/**
 * Reads YAML in a thread of its own: a thousand entries take a third of a second, in which nobody would be answered.
 * Rejects with what is wrong in it.
 */
export function parseAside(text: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // Without the flags of this process: some of them say how a program given as text is to be read.
    const worker = new Worker(PROGRAM, { eval: true, execArgv: [], workerData: { text, yaml: YAML } })
    worker.once('message', ({ document, reason }: { document?: unknown; reason?: string }) => {
      if (reason === undefined) resolve(document)
      else reject(new SyntaxError(reason))
    })
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the configuration was not read to its end')))
  })
}
