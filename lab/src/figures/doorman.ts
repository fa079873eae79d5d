import {
  course,
  fiveForAnHour,
  LEVEL,
  measure,
  one,
  ourSystem,
  PUBLISHED_SCENARIOS,
  publishedSystem,
  type Scenario,
  type Server,
  type System,
  secondsToFollow,
  seededChances,
  seven,
  sevenAsWritten,
  sevenFarAway,
  sevenInAStorm,
  sevenInChaos,
  spikes,
  TREE,
  welcome,
} from '../simulation/doorman/index.js'
import { doormanAims, type Followed, meanOf, most, nodesOver, percentOf, type Row, worst } from './doorman-goals.js'
import type { Effort, Figure, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { beside } from './numbers.js'
import { type Courses, plotAlone, plotMishaps } from './plots/courses.js'

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1)
/** A scenario's figures begin with its 60th second. */
const SHORTEST_SECONDS = 90

export const doorman: Figure = {
  name: 'doorman',
  file: 'doorman',
  about: 'capacity in leases, and how soon they follow demand, in the published scenarios and in worse',
  source: 'the simulation of the design document, written anew, with its scenarios, on the same seeds',
  seeds: SEEDS,
  make(effort, tell) {
    const seeds = seedsOf(effort, SEEDS)
    const rows = [
      ...[...PUBLISHED_SCENARIOS, fiveForAnHour, sevenAsWritten].map((scenario) => row(scenario, effort, tell, true)),
      ...[sevenFarAway, sevenInAStorm, sevenInChaos].map((scenario) => row(scenario, effort, tell, false)),
    ]
    tell('spikes')
    const spiky = seeds.map((seed) =>
      measure(shortened(spikes, effort), ourSystem({ refreshSeconds: 16 }), seededChances(seed)),
    )
    tell('moves')
    const followed = moves(seeds)
    const asks = (45 * shortened(spikes, effort).seconds) / 16
    const courses = { one: coursesOf(one, effort, 1), seven: coursesOf(seven, effort, 5) }
    return {
      aims: doormanAims(rows, followed, { found: spiky, asks }),
      tables: [everything(rows)],
      pictures: { one: plotAlone(courses.one), seven: plotMishaps(courses.seven) },
      data: { seeds, rows, followed, spiky, courses },
    }
  },
}

function row(scenario: Scenario, effort: Effort, tell: Tell, compared: boolean): Row {
  tell(scenario.name)
  const seeds = seedsOf(effort, SEEDS)
  const short = shortened(scenario, effort)
  const ours = seeds.map((seed) => measure(short, ourSystem(), seededChances(seed)))
  if (!compared) return { scenario: scenario.name, ours }
  const published = seeds.map((seed) => measure(short, publishedSystem, seededChances(seed)))
  return { scenario: scenario.name, ours, published }
}

function shortened(scenario: Scenario, { part }: Effort): Scenario {
  return { ...scenario, seconds: Math.max(SHORTEST_SECONDS, Math.round(scenario.seconds * part)) }
}

/** The first seed, regardless of its result. */
function coursesOf(scenario: Scenario, effort: Effort, everySeconds: number): Courses {
  const short = shortened(scenario, effort)
  const [seed] = SEEDS
  return {
    published: course(short, publishedSystem, seededChances(seed!), everySeconds),
    ours: course(short, ourSystem(), seededChances(seed!), everySeconds),
  }
}

function everything(rows: readonly Row[]): Table {
  const columns = [
    ['handed out', percentOf('handedOut'), 1],
    ['least', worst, 1],
    ['of what is wanted', percentOf('handedOutOfWanted'), 1],
    ['useful', percentOf('useful'), 1],
    ['wrong hands', percentOf('misallocated'), 1],
    ['most at once', most, 1],
    ['nodes over', nodesOver, 0],
    ['messages', (found: Row['ours']) => meanOf('messages', found), 0],
  ] as const
  return {
    id: 'everything',
    title: `Everything: ours / published, in per cent, mean of ${rows[0]!.ours.length} seeds`,
    head: ['', ...columns.map(([title]) => title)],
    rows: rows.map(({ scenario, ours, published }) => [
      scenario,
      ...columns.map(([, measure, digits]) =>
        beside(measure(ours).toFixed(digits), published && measure(published).toFixed(digits)),
      ),
    ]),
  }
}

function moves(seeds: readonly number[]): Followed[] {
  const tree = ourSystem()
  const level = ourSystem({ refreshSeconds: 16, eager: true })
  const follow = <S extends Server>(where: Scenario, system: System<S>, move: 'return' | 'leave'): number[] =>
    seeds.map((seed) => secondsToFollow(where, system, seededChances(seed), move, seed % 16))
  const newcomer = <S extends Server>(system: System<S>, at: number, what: 'something' | 'share'): number[] =>
    seeds.map((seed) => welcome(system, seededChances(seed), at, (seed % 4) * 10, seed % 8)[what])
  const both = <T>(of: <S extends Server>(system: System<S>) => T): { ours: T; published: T } => ({
    ours: of(tree),
    published: of(publishedSystem),
  })
  return [
    {
      title: 'a region comes back, until 99 % of max-min',
      ...both((system) => follow(TREE, system, 'return')),
      goal: { median: 18, longest: 24 },
    },
    {
      title: 'a region leaves',
      ...both((system) => follow(TREE, system, 'leave')),
      goal: { longest: 15 },
    },
    {
      title: '15 of 45 clients come back, one server, refresh 16 s',
      ours: follow(LEVEL, level, 'return'),
      goal: { median: 14, longest: 20 },
    },
    ...[0, 1, 2].flatMap((at) => [
      {
        title: `new client after a change of master at level ${at} has something`,
        ...both((system) => newcomer(system, at, 'something')),
        // Two refresh intervals of the level: 8, 4 and 2 s.
        goal: { longest: 2 * (8 >> at) },
      },
      {
        title: `new client after a change of master at level ${at} has 90 % of its share`,
        ...both((system) => newcomer(system, at, 'share')),
        goal: { longest: 14 },
      },
    ]),
  ]
}
