import { fairClock, type MakeController, noControl, publishedRule } from './controller.js'
import { type Measures, measure } from './measures.js'
import type { Scenario } from './scenario.js'
import { simulate } from './simulate.js'

export type RuleName = 'none' | 'published' | 'clock'

export const RULES: Readonly<Record<RuleName, MakeController>> = {
  none: noControl,
  published: publishedRule,
  clock: fairClock,
}

/** Measures of a run, relative to the best possible. */
export interface Found extends Measures {
  /** Cost served, as a part of the cost served without control. */
  readonly relative: number
}

/** Results of each rule in a scenario, a run for each seed. */
export type Study = Readonly<Record<RuleName, readonly Found[]>>

export function study(scenario: Scenario, seeds: readonly number[]): Study {
  const runs = (rule: RuleName): Measures[] =>
    seeds.map((seed) => measure(scenario, simulate(scenario, RULES[rule], seed)))
  const none = runs('none')
  const beside = (found: readonly Measures[]): Found[] =>
    found.map((each, i) => ({ ...each, relative: each.served / none[i]!.served }))
  return { none: beside(none), published: beside(runs('published')), clock: beside(runs('clock')) }
}

/** The mean of a measure over the runs that have it; NaN if none has. */
export function meanOf(found: readonly Found[], key: keyof Found): number {
  const values = found.map((each) => each[key]).filter((value) => !Number.isNaN(value))
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The scenario, and `part` of its time. */
export function shortened(scenario: Scenario, part: number): Scenario {
  return { ...scenario, seconds: scenario.seconds * part }
}
