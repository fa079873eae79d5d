import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { programOf } from './program.js'

/** Runs Prometheus' own tool, and gives what it prints. Rejects where it fails; what it says of that is in the message. */
export async function promtool(...args: string[]): Promise<string> {
  const binary = await programOf('promtool', 'prometheus', 'to have rules and queries checked')
  const run = promisify(execFile)(binary, args, { maxBuffer: 2 ** 26 })
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`promtool ${args.join(' ')}: ${error.stdout}${error.stderr}`)
  })
  return stdout + stderr
}
