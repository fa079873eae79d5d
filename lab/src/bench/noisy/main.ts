/**
 * Noisy neighbours, end to end: four frameworks, each without protection, behind its usual limiter, and behind
 * Fairlead, on a resource with too little capacity for all.
 *
 *     pnpm bench:noisy [--framework koa] [--at-once 2] [--seconds 60] [--seed 1] [--save]
 *
 * `--at-once` frameworks run side by side, a process for each server and this one for all clients: at 160 requests a
 * second a server is idle nearly always, and a minute is long. Servers run on Node 24, if it is installed.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { machine } from '../report/machine.js'
import { publish } from '../report/publish.js'
import { GUARDS } from './guards.js'
import { type Run, runAll } from './run.js'
import { sectionOf, warnings } from './section.js'
import { NODE } from './server-process.js'

/** The files of the frameworks. */
const FRAMEWORKS = ['express', 'koa', 'hono', 'nest']

const { values } = parseArgs({
  options: {
    framework: { type: 'string', multiple: true, default: FRAMEWORKS },
    'at-once': { type: 'string', default: '2' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    save: { type: 'boolean', default: false },
  },
})
for (const name of values.framework)
  if (!FRAMEWORKS.includes(name)) throw new RangeError(`--framework is one of ${FRAMEWORKS.join(', ')}; got '${name}'`)
const [seconds, seed, atOnce] = [Number(values.seconds), Number(values.seed), Number(values['at-once'])]
if (!(seconds > 0)) throw new RangeError(`--seconds must be a number above 0, got '${values.seconds}'`)
if (!Number.isInteger(seed)) throw new RangeError(`--seed must be an integer, got '${values.seed}'`)

if (!(Number.isInteger(atOnce) && atOnce > 0))
  throw new RangeError(`--at-once must be an integer of at least 1, got '${values['at-once']}'`)

const runs: Run[] = []
for (let at = 0; at < values.framework.length; at += atOnce) {
  const now = values.framework.slice(at, at + atOnce)
  console.log(`${now.join(' and ')}: ${now.length * GUARDS.length} servers side by side for ${seconds} s`)
  // A seed for each framework, so that a common result holds for four different minutes.
  const entries = now.map((name) => ({ name, seed: seed + FRAMEWORKS.indexOf(name) }))
  runs.push(...(await runAll(entries, seconds)))
}
const version = execFileSync(NODE, ['--version'], { encoding: 'utf8' }).trim()
const doubtful = warnings(runs).length > 0
await publish(sectionOf(runs, seconds, seed), machine(version), values.save && !doubtful)
if (values.save && doubtful) {
  console.error('Not saved: the machine was too busy for these figures to mean anything.')
  process.exitCode = 1
}
