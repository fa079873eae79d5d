import type { Effort, Findings, Tell } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { type Course, plotCourses } from '../plots/escrow-courses.js'
import { RULES, TITLES, WAYS, type Way } from './rule.js'
import { ONE_UNIT, PAUSING, SCENARIOS, type Scenario } from './scenarios.js'
import { SEEDS } from './seeds.js'
import { play } from './window.js'

/** Results of a scenario: means over the seeds. */
export interface Utilisation {
  /** Part of the limit. */
  readonly used: number
  /** The least and the most over the seeds. */
  readonly range: readonly [number, number]
  /**
   * Of the seed that left most: units left, the largest cost that was refused last, and the upper bound of the rest.
   */
  readonly left: number
  readonly wanting: number
  readonly mayBeLeft: number
  /** Part of the limit used by each hundredth of the window. */
  readonly course: readonly number[]
}

export function utilise({ story }: Scenario, way: Way, effort: Effort): Utilisation {
  const runs = seedsOf(effort, SEEDS).map((seed) => play(story, RULES[way], seed))
  const parts = runs.map(({ used }) => used / story.limit)
  const worst = runs.reduce((most, run) => (run.used < most.used ? run : most))
  return {
    used: mean(parts),
    range: [Math.min(...parts), Math.max(...parts)],
    left: story.limit - worst.used,
    wanting: worst.wanting,
    mayBeLeft: worst.mayBeLeft,
    course: runs[0]!.course.map((_, step) => mean(runs.map(({ course }) => course[step]! / story.limit))),
  }
}

/** Utilisation of the limit if tenants leave some of their shares. */
export function utilisation(effort: Effort, tell: Tell): Findings {
  const rows = SCENARIOS.map((scenario) => {
    tell(scenario.title)
    const byWay = WAYS.map((way) => [way, utilise(scenario, way, effort)] as const)
    return { scenario, byWay: Object.fromEntries(byWay) as Record<Way, Utilisation> }
  })
  const courses = [ONE_UNIT, PAUSING].map((shown): Course => {
    const { scenario, byWay } = rows.find((row) => row.scenario === shown)!
    return { title: scenario.title, byWay }
  })
  return {
    aims: rows.map(({ scenario: { title, goal }, byWay: { excess, paced } }) =>
      typeof goal === 'number'
        ? {
            what: `used, %: ${title}`,
            published: 100 * excess.used,
            ours: 100 * paced.used,
            goal: { least: 100 * goal },
          }
        : {
            what: `left, of what may be: ${title}`,
            published: excess.left / excess.mayBeLeft,
            ours: paced.left / paced.mayBeLeft,
            goal: { most: 1 },
            digits: 2,
          },
    ),
    tables: [
      {
        id: 'utilisation',
        title:
          'Part of the limit that is used, in per cent; and of ours, paced, in the seed that left most: units left, the ' +
          'largest cost refused last, and what may be left: that, and what an even pace kept for others then',
        head: ['used, %', ...WAYS.map((way) => TITLES[way]), 'goal', 'left', 'refused', 'may be left'],
        rows: rows.map(({ scenario: { title, goal }, byWay }) => [
          title,
          ...WAYS.map((way) => percents(byWay[way].used)),
          typeof goal === 'number' ? `≥ ${100 * goal}` : goal,
          String(byWay.paced.left),
          String(byWay.paced.wanting),
          byWay.paced.mayBeLeft.toFixed(1),
        ]),
      },
    ],
    pictures: { '': plotCourses(courses) },
    data: rows.map(({ scenario: { title, goal }, byWay }) => ({ title, goal, byWay })),
  }
}

export function percents(part: number): string {
  return (100 * part).toFixed(1)
}
