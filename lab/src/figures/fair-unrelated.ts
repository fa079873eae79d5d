import { RULES, type RuleName } from '../fair/study.js'
import { type Coped, copedWith } from '../fair/unrelated.js'
import { digits } from './fair-goals.js'
import type { Effort, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const SEEDS = Array.from({ length: 10 }, (_, i) => 1 + i)
const SHARES = [0.02, 0.05, 0.1, 0.3, 0.5, 0.7]

/** Results of each rule with failures that have nothing to do with load. */
export interface Unrelated {
  readonly share: number
  readonly isOverload: boolean
  readonly byRule: Readonly<Record<'published' | 'clock', Coped>>
}

export function whatUnrelatedFailuresCost(effort: Effort, tell: Tell): Unrelated[] {
  tell('failures that have nothing to do with load')
  return SHARES.flatMap((share) => [false, true].map((isOverload) => costOf(share, isOverload, effort)))
}

function costOf(share: number, isOverload: boolean, effort: Effort): Unrelated {
  const of = (rule: RuleName): Coped => {
    const each = seedsOf(effort, SEEDS).map((seed) => copedWith(share, isOverload, RULES[rule], seed))
    return { during: mean(each.map(({ during }) => during)), after: mean(each.map(({ after }) => after)) }
  }
  return { share, isOverload, byRule: { published: of('published'), clock: of('clock') } }
}

export function unrelatedTable(rows: readonly Unrelated[]): Table {
  const shown = ({ during, after }: Coped): string => `${digits(during)} (${digits(after)})`
  const [calm, overload] = [false, true].map((is) => rows.filter(({ isOverload }) => isOverload === is))
  return {
    id: 'unrelated',
    title:
      'Failures that have nothing to do with load, for two minutes: served, of what could be, while they last; in ' +
      'brackets in the half minute after. 40 a second are asked, or 150, of 100',
    head: ['they are', '40/s: published', 'clock', '150/s: published', 'clock'],
    rows: calm!.map(({ share, byRule }, i) => [
      `${Math.round(share * 100)} %`,
      ...[byRule, overload![i]!.byRule].flatMap(({ published, clock }) => [shown(published), shown(clock)]),
    ]),
  }
}
