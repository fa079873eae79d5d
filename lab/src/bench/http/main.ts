/**
 * What the middleware costs: CPU time of the server per request, beside a bare server, one that does the least a
 * middleware can do, and the framework's best-known limiters, set up as their documentation says.
 *
 *     pnpm bench:http [--framework koa] [--node <path> | --all-nodes] [--seconds 120]
 *
 * Servers run on Node 24, because the frameworks are fast there and the middleware shows; `--node` names another,
 * `--all-nodes` adds the one that runs this. `--seconds` is the time for each table. Slices with refusals do not count.
 */
import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { node24 } from '@fairlead-testing/runtimes'
import { printTable } from '../table.js'
import { compare, PROCESSES, SLICE } from './compare.js'
import type { Framework } from './framework.js'
import { CONNECTIONS, FLOWS } from './load.js'

/** The files of the frameworks. */
const FRAMEWORKS = ['express', 'koa', 'hono', 'nest-express', 'nest-fastify']

const { values } = parseArgs({
  options: {
    framework: { type: 'string', multiple: true, default: FRAMEWORKS },
    node: { type: 'string' },
    'all-nodes': { type: 'boolean', default: false },
    seconds: { type: 'string', default: '120' },
  },
})
for (const name of values.framework)
  if (!FRAMEWORKS.includes(name)) throw new RangeError(`--framework is one of ${FRAMEWORKS.join(', ')}; got '${name}'`)
const seconds = Number(values.seconds)
if (!(seconds > 0)) throw new RangeError(`--seconds must be a number above 0, got '${values.seconds}'`)

console.log(
  `One small JSON route; ${CONNECTIONS} connections, ${FLOWS} flows; ` +
    `medians of slices of ${SLICE} requests to each of ${PROCESSES} processes, in turn`,
)
for (const node of nodes())
  for (const name of values.framework) {
    const { framework } = (await import(`./${name}.js`)) as { framework: Framework }
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    console.log(`\n${framework.title}, Node.js ${version}`)
    const { costs, rounds, others, pinned } = await compare(node, name, framework.modes, seconds)
    printTable(
      ['mode', 'CPU µs/request', 'above bare', 'of its processes', 'goal', 'bare ÷ mode', 'refused'],
      costs.map(({ mode, cpuUs, aboveBareUs, rangeUs, bareShare, refused }) => {
        const goal = mode === 'fairlead, default' ? `${framework.goalUs}` : ''
        const range = rangeUs.map((us) => us.toFixed(1)).join(' to ')
        return [mode, cpuUs.toFixed(1), aboveBareUs.toFixed(1), range, goal, bareShare.toFixed(2), `${refused}`]
      }),
    )
    console.log(
      `${rounds} rounds, ${pinned ? 'servers and load on a processor each' : 'on whichever processor was free'}; ` +
        `everything else on this machine kept ${others.toFixed(2)} processors busy`,
    )
  }

function nodes(): string[] {
  if (values.node !== undefined) return [values.node]
  if (node24 === undefined) {
    console.warn('Node 24 is not installed for this platform: servers run on this Node, for which no goal is set.')
    return [process.execPath]
  }
  return values['all-nodes'] ? [node24, process.execPath] : [node24]
}
