import { HELD_OUT } from '../fair/held-out.js'
import type { Scenario } from '../fair/scenario.js'
import { DEVELOPMENT } from '../fair/scenarios.js'
import { type Found, meanOf, type RuleName, type Study, shortened, study } from '../fair/study.js'
import type { Aim } from './aims.js'
import {
  adversaryTable,
  pardonAims,
  pardonTable,
  whatAdversariesTake,
  whatFollowsAggression,
} from './fair-adversaries.js'
import { digits } from './fair-goals.js'
import { unrelatedTable, whatUnrelatedFailuresCost } from './fair-unrelated.js'
import type { Figure, Table } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const HELD_OUT_SEEDS = Array.from({ length: 10 }, (_, i) => 1 + i)
const OTHER_SEEDS = HELD_OUT_SEEDS.slice(0, 5)

interface Row {
  readonly name: string
  readonly kind: Scenario['resource']['kind']
  readonly means: Readonly<Record<RuleName, Means>>
}

type Means = Pick<Found, 'windowed' | 'relative' | 'goodMean' | 'goodWorst' | 'failures' | 'needless' | 'recovery'>

/** Every scenario under both rules: those that constants were chosen by, held-out ones, and adversaries. */
export const fairScenarios: Figure = {
  name: 'fair-scenarios',
  file: 'fair-scenarios',
  about: 'both rules of FAIR in all scenarios, and the gain of adversaries',
  make(effort, tell) {
    const run = (scenarios: readonly Scenario[], seeds: readonly number[]): Row[] =>
      scenarios.map((scenario) => {
        tell(scenario.name)
        const found = study(shortened(scenario, effort.part), seedsOf(effort, seeds))
        return { name: scenario.name, kind: scenario.resource.kind, means: meansOf(found) }
      })
    const heldOut = run(HELD_OUT, HELD_OUT_SEEDS)
    const development = run(DEVELOPMENT, OTHER_SEEDS)
    const adversaries = whatAdversariesTake(effort, tell)
    const pardons = whatFollowsAggression(effort, tell)
    const unrelated = whatUnrelatedFailuresCost(effort, tell)
    return {
      aims: [...aimsOf(heldOut), ...pardonAims(pardons)],
      tables: [
        byKind(heldOut),
        exceptions(heldOut),
        scenarioTable(`Held out: mean of ${HELD_OUT_SEEDS.length} seeds`, heldOut),
        scenarioTable(`Development: mean of ${OTHER_SEEDS.length} seeds`, development),
        adversaryTable(adversaries),
        pardonTable(pardons),
        unrelatedTable(unrelated),
      ],
      pictures: {},
      data: { heldOut, development, adversaries, pardons, unrelated },
    }
  },
}

function meansOf(found: Study): Row['means'] {
  const of = (rule: RuleName): Means => ({
    windowed: meanOf(found[rule], 'windowed'),
    relative: meanOf(found[rule], 'relative'),
    goodMean: meanOf(found[rule], 'goodMean'),
    goodWorst: meanOf(found[rule], 'goodWorst'),
    failures: meanOf(found[rule], 'failures'),
    needless: meanOf(found[rule], 'needless'),
    recovery: meanOf(found[rule], 'recovery'),
  })
  return { none: of('none'), published: of('published'), clock: of('clock') }
}

function scenarioTable(title: string, rows: readonly Row[]): Table {
  const good = ({ goodMean, goodWorst }: Means): string =>
    Number.isNaN(goodMean) ? '–' : `${digits(goodMean)}; ${digits(goodWorst)}`
  return {
    id: title.startsWith('Held') ? 'held-out' : 'development',
    title: `${title}. Served: of what no control serves. Well-behaved: served / asked, mean; worst`,
    head: [
      '',
      'windowed Jain: published',
      'clock',
      'served: published',
      'clock',
      'well-behaved: none',
      'published',
      'clock',
      'failures of admitted: published',
      'clock',
    ],
    rows: rows.map(({ name, means: { none, published, clock } }) => [
      name,
      digits(published.windowed),
      digits(clock.windowed),
      digits(published.relative),
      digits(clock.relative),
      good(none),
      good(published),
      good(clock),
      digits(published.failures),
      digits(clock.failures),
    ]),
  }
}

/** Means over all held-out scenarios, beside those of the published rule. */
function aimsOf(rows: readonly Row[]): Aim[] {
  const aim = (what: string, key: keyof Means, least: number): Aim => ({
    what: `held out: ${what}`,
    published: over(rows, 'published', key),
    ours: over(rows, 'clock', key),
    goal: { least },
    digits: 3,
  })
  const number = (what: string, of: readonly Row[]): Aim => ({ what, ours: of.length, goal: { most: 0 }, digits: 0 })
  return [
    aim('windowed Jain', 'windowed', 0.999),
    aim('served, of what no control serves', 'relative', 0.985),
    aim('well-behaved, mean', 'goodMean', 0.965),
    aim('well-behaved, worst', 'goodWorst', 0.935),
    number('held out: scenarios in which served is over 0.5 points below the published rule', behind(rows)),
    number('held out: scenarios with a refusal later than 10 s after an overload', slow(rows)),
  ]
}

/** The same, separately for resources with a store, and for pools of workers, where service costs failures. */
function byKind(rows: readonly Row[]): Table {
  const kinds = (['bucket', 'pool'] as const).map((kind) => rows.filter((row) => row.kind === kind))
  const keys: readonly [string, keyof Means][] = [
    ['windowed Jain', 'windowed'],
    ['served, of what no control serves', 'relative'],
    ['well-behaved, mean', 'goodMean'],
    ['well-behaved, worst', 'goodWorst'],
    ['failures of admitted', 'failures'],
  ]
  return {
    id: 'kinds',
    title: 'Held out, by kind of resource',
    head: ['', `${kinds[0]!.length} buckets: published`, 'clock', `${kinds[1]!.length} pools: published`, 'clock'],
    rows: keys.map(([what, key]) => [
      what,
      ...kinds.flatMap((of) => [digits(over(of, 'published', key)), digits(over(of, 'clock', key))]),
    ]),
  }
}

function over(rows: readonly Row[], rule: RuleName, key: keyof Means): number {
  return mean(rows.map(({ means }) => means[rule][key]).filter((value) => !Number.isNaN(value)))
}

function behind(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ means }) => means.clock.relative < means.published.relative - 0.005)
}

function slow(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ means }) => means.clock.recovery > 10)
}

function exceptions(rows: readonly Row[]): Table {
  return {
    id: 'exceptions',
    title: 'Held out: the scenarios that miss',
    head: ['', 'scenarios'],
    rows: [
      ['served over 0.5 points less than under the published rule', count(behind(rows))],
      ['refused later than 10 s after an overload', count(slow(rows))],
    ],
  }
}

function count(rows: readonly Row[]): string {
  return rows.length === 0 ? 'none' : `${rows.length}: ${rows.map(({ name }) => name).join('; ')}`
}
