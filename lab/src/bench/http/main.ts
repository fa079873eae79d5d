/**
 * Cost of the middleware: CPU time of the server per request, beside a bare server, the cheapest possible middleware,
 * and the framework's best-known limiters, set up as in their documentation.
 *
 *     pnpm bench:http [--framework koa] [--mode header] [--node <path> | --all-nodes] [--seconds 120] [--save]
 *
 * Servers run on Node 24, because the frameworks are fast there and the cost of the middleware is visible; `--node`
 * names another, `--all-nodes` adds the one that runs this. `--mode` selects the modes with one of these words in their
 * name. `--seconds` is the time for each table, beside a minute or two until its servers are warm. Slices with refusals
 * do not count. `--save` writes the results to `docs/benchmarks.md`.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { node24 } from '@fairlead-testing/runtimes'
import { machine } from '../report/machine.js'
import { publish } from '../report/publish.js'
import { compare } from './compare.js'
import type { Framework } from './framework.js'
import { sectionOf } from './section.js'

/** The files of the frameworks. */
const FRAMEWORKS = ['express', 'fastify', 'koa', 'hono', 'nest-express', 'nest-fastify']

const { values } = parseArgs({
  options: {
    framework: { type: 'string', multiple: true, default: FRAMEWORKS },
    mode: { type: 'string', multiple: true, default: [''] },
    node: { type: 'string' },
    'all-nodes': { type: 'boolean', default: false },
    seconds: { type: 'string', default: '120' },
    save: { type: 'boolean', default: false },
  },
})
for (const name of values.framework)
  if (!FRAMEWORKS.includes(name)) throw new RangeError(`--framework is one of ${FRAMEWORKS.join(', ')}; got '${name}'`)
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new RangeError(`--seconds must be a number above 0, got '${values.seconds}'`)
if (values.save && values.mode[0] !== '') throw new RangeError('--save is of all modes')

for (const node of nodes())
  for (const name of values.framework) {
    const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    const modes = framework.modes.filter((mode) => values.mode.some((word) => mode.includes(word)))
    const comparison = await compare(node, name, modes, seconds)
    await publish(sectionOf(name, framework, comparison), machine(version), values.save)
  }

function nodes(): string[] {
  if (values.node !== undefined) return [values.node]
  if (node24 === undefined) {
    console.warn('Node 24 is not installed for this platform: servers run on this Node, for which no goal is set.')
    return [process.execPath]
  }
  return values['all-nodes'] ? [node24, process.execPath] : [node24]
}
