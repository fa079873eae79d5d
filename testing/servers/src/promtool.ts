import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { programOf } from './program.js'

/** Runs Prometheus's promtool, and returns its output. Rejects if it fails, with its messages. */
export async function promtool(...args: string[]): Promise<string> {
  const binary = await programOf('promtool', 'prometheus', 'to have rules and queries checked')
  const run = promisify(execFile)(binary, args, { maxBuffer: 2 ** 26 })
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`promtool ${args.join(' ')}: ${error.stdout}${error.stderr}`)
  })
  return stdout + stderr
}
