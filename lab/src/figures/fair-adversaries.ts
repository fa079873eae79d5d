import { ADVERSARIES } from '../fair/adversaries.js'
import { entitledByWindow, totals } from '../fair/measures.js'
import { type Penalty, penaltyAfter } from '../fair/penalty.js'
import type { Scenario } from '../fair/scenario.js'
import { simulate } from '../fair/simulate.js'
import { RULES, type RuleName, shortened } from '../fair/study.js'
import type { Aim } from './aims.js'
import { digits } from './fair-goals.js'
import type { Effort, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const SEEDS = Array.from({ length: 5 }, (_, i) => 1 + i)
const PARDON_SEEDS = Array.from({ length: 10 }, (_, i) => 1 + i)

/** Share of an adversary: served / entitled as the one flow that it is, and the service of the light flows. */
export interface Taken {
  readonly name: string
  readonly byRule: Readonly<Record<RuleName, { readonly gain: number; readonly light: number }>>
}

/** Service of a former aggressor under each rule, by the seconds after its end. */
export interface Pardon {
  readonly pause: number
  readonly othersStay: boolean
  readonly byRule: Readonly<Record<'published' | 'clock', Penalty>>
}

const PAUSES = [0, 10, 30, 120, 300]
/** After this pause the aggressor should be treated like any other flow. */
const FORGIVEN = 30

export function whatAdversariesTake(effort: Effort, tell: Tell): Taken[] {
  return ADVERSARIES.map((scenario) => {
    tell(scenario.name)
    return takenIn(scenario, effort)
  })
}

export function whatFollowsAggression(effort: Effort, tell: Tell): Pardon[] {
  tell('an aggressor that stops')
  return [true, false].flatMap((stay) => PAUSES.map((pause) => pardonOf(pause, stay, effort)))
}

function takenIn(scenario: Scenario, effort: Effort): Taken {
  const shorter = shortened(scenario, Math.max(0.4, effort.part))
  const of = (rule: RuleName): { gain: number; light: number } => {
    const each = seedsOf(effort, SEEDS).map((seed) => {
      const run = simulate(shorter, RULES[rule], seed)
      const flows = run.arrivals.flows.length
      const served = totals(run.served, flows)
      const asked = totals(run.asked, flows)
      const light = served.slice(0, -1).map((cost, i) => cost / asked[i]!)
      return { gain: served.at(-1)! / entitledByWindow(shorter, run).at(-1)!, light: mean(light) }
    })
    return { gain: mean(each.map(({ gain }) => gain)), light: mean(each.map(({ light }) => light)) }
  }
  return { name: scenario.name, byRule: { none: of('none'), published: of('published'), clock: of('clock') } }
}

export function adversaryTable(rows: readonly Taken[]): Table {
  return {
    id: 'adversaries',
    title:
      'What an adversary gains: served / entitled as the one flow that it is; in brackets served / asked of the ' +
      'light flows beside it',
    head: ['', 'no control', 'published rule', 'fair clock'],
    rows: rows.map(({ name, byRule }) => [
      name,
      ...(['none', 'published', 'clock'] as const).map((rule) => {
        const { gain, light } = byRule[rule]
        return `${gain.toFixed(2)} (${light.toFixed(2)})`
      }),
    ]),
  }
}

function pardonOf(pause: number, othersStay: boolean, effort: Effort): Pardon {
  const of = (rule: RuleName): Penalty => {
    const each = seedsOf(effort, PARDON_SEEDS).map((seed) => penaltyAfter(pause, othersStay, RULES[rule], seed))
    return { aggressor: mean(each.map(({ aggressor }) => aggressor)), light: mean(each.map(({ light }) => light)) }
  }
  return { pause, othersStay, byRule: { published: of('published'), clock: of('clock') } }
}

export function pardonAims(pardons: readonly Pardon[]): Aim[] {
  const forgiven = pardons.filter(({ pause }) => pause === FORGIVEN)
  return forgiven.map(({ pause, othersStay, byRule: { published, clock } }) => ({
    what: `served of an aggressor, ${pause} s after it stopped: others ${othersStay ? 'as loud' : 'stopped, too'}`,
    published: published.aggressor,
    ours: clock.aggressor,
    goal: { least: 0.97 },
    digits: 3,
  }))
}

export function pardonTable(pardons: readonly Pardon[]): Table {
  const shown = ({ aggressor, light }: Penalty): string => `${digits(aggressor)} (${digits(light)})`
  const [loud, quiet] = [true, false].map((stay) => pardons.filter(({ othersStay }) => othersStay === stay))
  return {
    id: 'pardons',
    title:
      'An aggressor that asks no more than a light flow after a pause: served / asked in the minute from then on; in ' +
      'brackets of light flows. Beside it four that stay as loud, or stop with it',
    head: ['pause', 'four loud: published', 'clock', 'none: published', 'clock'],
    rows: loud!.map(({ pause, byRule }, i) => [
      `${pause} s`,
      ...[byRule, quiet![i]!.byRule].flatMap(({ published, clock }) => [shown(published), shown(clock)]),
    ]),
  }
}
