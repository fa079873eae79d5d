import type { Section } from '../report/section.js'
import { perWindow } from './framework.js'
import { titleOf } from './guards.js'
import { plotNoisy } from './plot.js'
import type { Run } from './run.js'
import { CLIENTS, FAIR_LEVEL, HEAVY_DUE, RESOURCE } from './scenario.js'

const HEAD = [
  '',
  'quiet: served / asked',
  'served / entitled',
  'worst',
  'p99',
  'heavy: served / asked',
  'served / entitled',
  'worst',
  'p99',
  'utilisation',
  'refused 429',
  'refused 503',
]
/** A smaller difference counts as equal: a minute's random variation is larger. */
const ALIKE = 0.01
/** Above this the clients themselves were short of processor time. */
const LATE_MS = 50

/** Table, plot and words of a whole benchmark. */
export function sectionOf(runs: readonly Run[], seconds: number, seed: number): Section {
  const rules = new Set(runs.flatMap(({ account }) => (account.rule === undefined ? [] : [account.rule])))
  const quiet = CLIENTS.filter(({ heavy }) => !heavy)
  const heavy = CLIENTS.filter((client) => client.heavy)
  return {
    file: 'noisy-http',
    title: 'Noisy neighbours, end to end',
    about: [
      `A handler that needs a token from a bucket: ${RESOURCE.perSecond} a second, at most ${RESOURCE.burst}, and ` +
        `503 when there is none. ${quiet.length} quiet clients ask ${quiet[0]!.perSecond.toFixed(2)}/s each, two ` +
        `thirds of the fair level of ${FAIR_LEVEL}/s; ${heavy.length} heavy ones ask ${heavy[0]!.perSecond}/s each, ` +
        `ten times it. Poisson arrivals for ${seconds} s over loopback sockets, from a separate address for each ` +
        `client; seeds from ${seed} on, one for each framework, the same requests at the same instants in all its ` +
        `rows. The servers of several frameworks run side by side.`,
      'The limiters count by address, which is their default, in three ways: the limit in their documentation; ' +
        `${perWindow(FAIR_LEVEL)}, which is the fair level; and ${perWindow(HEAVY_DUE)}, which is a heavy client's ` +
        'entitlement, and which can only be set if the demand of all clients is known in advance. ' +
        `Fairlead also uses the address, and has no options (FAIR's rule here: ${[...rules].join(', ') || 'none'}). In its ` +
        'last row requests also wait, for 2 s at most, in a queue whose capacity is the bucket itself: a request that ' +
        'starts has its token, so the handler never answers 503.',
    ],
    tables: [
      {
        title:
          'Entitled is the max-min share of the demand; the worst of the clients beside their mean; p99 of served requests',
        head: HEAD,
        rows: runs.map((run) => row(run)),
      },
    ],
    remarks: [...remarks(runs), ...warnings(runs)],
    picture: {
      svg: plotNoisy(runs),
      shows: 'Served / entitled of quiet and heavy clients, on four frameworks',
    },
  }
}

function row({ framework, guard, summary }: Run): string[] {
  const { quiet, heavy, utilisation, refused429, refused503 } = summary
  const fares = [quiet, heavy].flatMap(({ servedOfAsked, servedOfEntitled, worstOfEntitled, p99Ms }) => [
    servedOfAsked.toFixed(2),
    servedOfEntitled.toFixed(2),
    worstOfEntitled.toFixed(2),
    p99Ms === null ? '–' : `${p99Ms.toFixed(0)} ms`,
  ])
  const title = `${framework.title}: ${titleOf(guard, framework.peer)}`
  return [title, ...fares, utilisation.toFixed(2), `${refused429}`, `${refused503}`]
}

/** The cases in which a limiter does better than Fairlead with its defaults, in a sentence for each. */
function remarks(runs: readonly Run[]): string[] {
  return runs.flatMap(({ framework, guard, summary }) => {
    if (guard.startsWith('fairlead') || guard === 'nothing') return []
    const ours = runs.find((run) => run.framework === framework && run.guard === 'fairlead')?.summary
    if (ours === undefined) return []
    const ahead = [
      ['quiet clients, mean', summary.quiet.servedOfEntitled, ours.quiet.servedOfEntitled],
      ['quiet clients, worst', summary.quiet.worstOfEntitled, ours.quiet.worstOfEntitled],
      ['utilisation', summary.utilisation, ours.utilisation],
    ] as const
    const where = ahead
      .filter(([, theirs, own]) => theirs > own + ALIKE)
      .map(([name, theirs, own]) => `${name} ${theirs.toFixed(2)} beside ${own.toFixed(2)}`)
    if (where.length === 0) return []
    return [`Behind on ${framework.title}: ${titleOf(guard, framework.peer)} is better for ${where.join('; ')}.`]
  })
}

/** Conditions that invalidate the figures: the clients themselves were late, or without an answer. */
export function warnings(runs: readonly Run[]): string[] {
  const lateMs = Math.max(...runs.map(({ summary }) => summary.lateP99Ms))
  const lost = runs.reduce((total, { summary }) => total + summary.lost, 0)
  return [
    ...(lateMs > LATE_MS ? [`The machine was busy: one request in 100 was sent ${lateMs.toFixed(0)} ms late.`] : []),
    ...(lost > 0 ? [`${lost} requests had no answer.`] : []),
  ]
}
