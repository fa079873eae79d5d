import { loadavg } from 'node:os'
import type { Section } from '../report/section.js'
import { type Comparison, type Cost, PROCESSES, SLICE, WARM_UP } from './compare.js'
import type { Framework } from './framework.js'
import { CONNECTIONS, FLOWS } from './load.js'

const OURS = 'fairlead, default'
const HEAD = [
  '',
  'CPU µs/request',
  'above bare',
  'of its processes',
  'goal',
  'bare ÷ mode',
  'requests/s ÷ bare',
  'p99 ms',
]
/** Modes that are not peers: those that limit nothing, and Fairlead's. */
const NO_LIMITER = /^(bare|counts|empty|fairlead)/
/** Processes of one mode differ by up to this, in microseconds. */
const ALIKE_US = 1

/** The chapter of one framework. `name` is its file. */
export function sectionOf(name: string, framework: Framework, comparison: Comparison): Section {
  const { costs, rounds, others, pinned } = comparison
  return {
    file: `bench-http-${name}`,
    title: `A request: ${framework.title}`,
    about: [
      `One small JSON route; ${CONNECTIONS} connections, ${FLOWS.toLocaleString('en')} flows, nothing refused. CPU ` +
        `time of the server per request, medians of the quieter half of ${rounds} rounds with a slice of ` +
        `${SLICE.toLocaleString('en')} requests to each of ${PROCESSES} processes per mode, in turn, and as many to a ` +
        'bare route that each of them also serves, with which its mode is compared, ' +
        `after ${WARM_UP.toLocaleString('en')} unmeasured ones to each; ` +
        `${pinned ? 'servers and load on a processor each' : 'on any free processor'}; everything else on ` +
        `this machine kept ${others.toFixed(2)} processors busy, at a load average of ${loadavg()[1]!.toFixed(0)} over ` +
        'five minutes. The quieter rounds are those that cost all servers ' +
        'together least: neighbours on the host slow them all. Limiters are set up as their documentation says, ' +
        'with a limit that is never reached; by address all of the load is one key, by header each flow has its own. ' +
        'Requests per second and p99 are measured by the load generator, which sends the next request after each answer.',
      ...(framework.about === undefined ? [] : [framework.about]),
    ],
    tables: [{ title: 'Cost of a request', head: HEAD, rows: costs.map((cost) => row(cost, framework)) }],
    remarks: [...behind(framework, costs), ...doubts(costs)],
  }
}

function row(
  { mode, cpuUs, aboveBareUs, rangeUs, bareShare, rateShare, p99Ms }: Cost,
  { goalUs }: Framework,
): string[] {
  const range = rangeUs.map((us) => us.toFixed(1)).join(' to ')
  const shares = [bareShare, rateShare, p99Ms].map((value) => value.toFixed(2))
  return [mode, cpuUs.toFixed(1), aboveBareUs.toFixed(1), range, mode === OURS ? `${goalUs}` : '', ...shares]
}

/** Limiters that cost less than Fairlead's, and our own goal if it is missed. */
function behind({ goalUs }: Framework, costs: readonly Cost[]): string[] {
  const ours = costs.find(({ mode }) => mode === OURS)
  if (ours === undefined) return []
  const ourUs = ours.aboveBareUs.toFixed(1)
  const goal = ours.aboveBareUs > goalUs ? [`Behind our goal: ${ourUs} µs instead of at most ${goalUs}.`] : []
  const peers = costs.filter(({ mode }) => !NO_LIMITER.test(mode))
  return [
    ...goal,
    ...peers
      .filter(({ aboveBareUs }) => aboveBareUs + ALIKE_US < ours.aboveBareUs)
      .map(({ mode, aboveBareUs }) => `Behind: ${mode} adds ${aboveBareUs.toFixed(1)} µs, ${OURS} ${ourUs}.`),
  ]
}

function doubts(costs: readonly Cost[]): string[] {
  const refusing = costs.filter(({ refused }) => refused > 0)
  return refusing.map(({ mode, refused }) => `${mode} refused ${refused} requests; slices with refusals do not count.`)
}
