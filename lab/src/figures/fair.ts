import { servedOverEntitled } from '../fair/measures.js'
import { PUBLISHED } from '../fair/scenarios.js'
import { simulate } from '../fair/simulate.js'
import { RULES, type RuleName, shortened, study } from '../fair/study.js'
import { type Moment, TRACED, trace } from '../fair/trace.js'
import { fairAims, fairTable } from './fair-goals.js'
import type { Effort, Figure } from './figure.js'
import { seedsOf } from './measure.js'
import { plotFairClients } from './plots/fair-clients.js'
import { plotFairTrace } from './plots/fair-trace.js'

const SEEDS = Array.from({ length: 10 }, (_, i) => 1 + i)

/** The published populations and the noisy neighbours under both rules, beside the published figures. */
export const fair: Figure = {
  name: 'fair',
  file: 'fair',
  about: 'service by client in overload: the published rule and the fair clock',
  source: 'the evaluator of satmihir/fair, with its defaults, means of 10 seeds; noisy: simulated with the same rule',
  seeds: SEEDS,
  make(effort, tell) {
    const studies = new Map(
      PUBLISHED.map((scenario) => {
        tell(scenario.name)
        return [scenario.name, study(shortened(scenario, effort.part), seedsOf(effort, SEEDS))] as const
      }),
    )
    tell('pictures')
    const clients = clientsOf(effort)
    const moments: readonly Moment[] = trace(shortened(TRACED, effort.part), SEEDS[0]!)
    return {
      aims: fairAims(studies),
      tables: [fairTable(studies)],
      pictures: { clients: plotFairClients(clients), trace: plotFairTrace(moments) },
      data: { scenarios: Object.fromEntries(studies), clients, trace: moments },
    }
  },
}

/** Served / entitled of every client of the first population, in one run, sorted. */
function clientsOf({ part }: Effort): Record<RuleName, readonly number[]> {
  const scenario = shortened(PUBLISHED[0]!, part)
  const of = (rule: RuleName): number[] =>
    servedOverEntitled(scenario, simulate(scenario, RULES[rule], SEEDS[0]!)).sort((x, y) => x - y)
  return { none: of('none'), published: of('published'), clock: of('clock') }
}
