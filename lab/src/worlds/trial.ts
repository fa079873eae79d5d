import { simulate } from './engine.js'
import { FAMILY_LISTS } from './families.js'
import { judge, type Measures, mean, yardstickOf } from './harm.js'
import { RULES } from './rules.js'
import { worldOf } from './world.js'

export type ListName = keyof typeof FAMILY_LISTS

/** A world under several rules. */
export interface Trial {
  readonly seed: number
  readonly families: readonly string[]
  readonly measures: Readonly<Record<string, Measures>>
}

export function tryWorld(list: ListName, seed: number, rules: readonly string[]): Trial {
  const world = worldOf(seed, FAMILY_LISTS[list])
  const none = simulate(world, RULES.get('none')!)
  const yardstick = yardstickOf(world, none)
  const judged = rules.map((name) => [
    name,
    judge(yardstick, name === 'none' ? none : simulate(world, RULES.get(name)!)),
  ])
  return { seed, families: world.families, measures: Object.fromEntries(judged) }
}

/** Results of a rule in many worlds. */
export interface Summary {
  readonly worlds: number
  readonly harm: number
  /** 95 % of the worlds have less harm. */
  readonly harm95: number
  readonly harmWorst: number
  /** Parts of the worlds with more harm than this. */
  readonly above5: number
  readonly above20: number
  readonly good: number
  readonly jain: number
  readonly failed: number
  readonly needless: number
  readonly recovered: number
}

/** Means over the worlds that have the measure. */
export function summaryOf(trials: readonly Trial[], rule: string): Summary {
  const column = (measure: keyof Measures): number[] =>
    trials.map(({ measures }) => measures[rule]![measure]).filter((x) => !Number.isNaN(x))
  const harms = column('harm').sort((a, b) => a - b)
  const above = (limit: number): number => harms.filter((harm) => harm > limit).length / harms.length
  return {
    worlds: trials.length,
    harm: mean(harms),
    harm95: harms[Math.floor(0.95 * (harms.length - 1))] ?? Number.NaN,
    harmWorst: harms.at(-1) ?? Number.NaN,
    above5: above(0.05),
    above20: above(0.2),
    good: mean(column('good')),
    jain: mean(column('jain')),
    failed: mean(column('failed')),
    needless: mean(column('needless')),
    recovered: mean(column('recovered')),
  }
}

type Bound = readonly [keyof Summary, 'at most' | 'at least', number]

/**
 * Guarantees of the default rule: a list, its worlds from 1 to a last one, and bounds. These are ratchets, a little
 * looser than the measurements: they are tightened when the rule gets better. A bound is given up only for one that
 * stands above it: harm comes first. The goal stands beside each.
 */
export const GATES: readonly (readonly [ListName, last: number, readonly Bound[]])[] = [
  [
    'first',
    300,
    [
      ['harm', 'at most', 0.0065], // goal 0.01
      ['harm95', 'at most', 0.04], // goal 0.06
      ['above20', 'at most', 0.003], // goal 0.003
      ['needless', 'at most', 0.0048], // goal 0.005
      ['recovered', 'at least', 0.99], // goal 0.99
      ['good', 'at least', 0.919], // goal 0.92
      ['jain', 'at least', 0.971], // goal 0.97
      ['failed', 'at most', 0.149], // goal 0.10
    ],
  ],
  [
    'daily',
    100,
    [
      ['harm', 'at most', 0.02], // goal 0.01
      ['harm95', 'at most', 0.13], // goal 0.06
      ['above20', 'at most', 0.01], // goal 0.003
      ['needless', 'at most', 0.005], // goal 0.005
      ['good', 'at least', 0.9], // goal 0.92
      ['jain', 'at least', 0.95], // goal 0.97
    ],
  ],
]

/** A line for each missed bound; a missing measure misses none. */
export function missed(summary: Summary, bounds: readonly Bound[]): string[] {
  return bounds
    .filter(([name, side, bound]) => !(side === 'at most' ? summary[name] <= bound : summary[name] >= bound))
    .map(([name, side, bound]) => `${name} is ${summary[name].toFixed(4)}, and should be ${side} ${bound}`)
}
