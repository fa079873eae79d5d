import {
  type Findings,
  fiveForAnHour,
  LEVEL,
  measure,
  ourSystem,
  PUBLISHED_SCENARIOS,
  publishedSystem,
  type Scenario,
  secondsToFollow,
  seededChances,
  sevenAsWritten,
  sevenFarAway,
  sevenInAStorm,
  sevenInChaos,
  spikes,
  TREE,
  welcome,
} from '@fairlead/core/simulation/lease'
import type { Effort, Figure, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1)
/** A scenario's figures begin with its 60th second. */
const SHORTEST_SECONDS = 90

interface Row {
  readonly scenario: string
  readonly ours: readonly Findings[]
  /** Absent where the published system has no such thing: its messages take no time. */
  readonly published?: readonly Findings[]
}

interface Followed {
  readonly title: string
  readonly seconds: readonly number[]
}

export const doorman: Figure = {
  name: 'doorman',
  file: 'doorman',
  about: 'what leases hand out, and how soon they follow, in the published scenarios and in worse',
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
    return {
      tables: [
        handedOut(rows),
        {
          title: `Seconds until clients have 99 % of their max-min shares, ${seeds.length} seeds`,
          head: ['', 'median', 'longest'],
          rows: followed.map(({ title, seconds }) => [
            title,
            median(seconds).toFixed(0),
            Math.max(...seconds).toFixed(0),
          ]),
        },
        {
          title: 'One server, 45 clients, refresh 16 s, one wants 100 more every minute',
          head: ['handed out, %', 'least', 'messages per refresh interval', 'most at once, %'],
          rows: [
            [
              percent(mean(spiky.map((each) => each.handedOut))),
              percent(Math.min(...spiky.map((each) => each.handedOut))),
              mean(spiky.map((each) => each.messages / asks)).toFixed(2),
              percent(Math.max(...spiky.map((each) => each.most))),
            ],
          ],
        },
      ],
      pictures: {},
      data: { seeds, rows, followed, spiky },
    }
  },
}

function row(scenario: Scenario, effort: Effort, tell: Tell, beside: boolean): Row {
  tell(scenario.name)
  const seeds = seedsOf(effort, SEEDS)
  const short = shortened(scenario, effort)
  const ours = seeds.map((seed) => measure(short, ourSystem(), seededChances(seed)))
  if (!beside) return { scenario: scenario.name, ours }
  const published = seeds.map((seed) => measure(short, publishedSystem, seededChances(seed)))
  return { scenario: scenario.name, ours, published }
}

function shortened(scenario: Scenario, { part }: Effort): Scenario {
  return { ...scenario, seconds: Math.max(SHORTEST_SECONDS, Math.round(scenario.seconds * part)) }
}

function handedOut(rows: readonly Row[]): Table {
  const both = ({ ours, published }: Row, show: (findings: readonly Findings[]) => string): string =>
    `${show(ours)} / ${published === undefined ? '–' : show(published)}`
  const meanOf = (key: keyof Findings) => (findings: readonly Findings[]) =>
    percent(mean(findings.map((each) => each[key])))
  return {
    title: `Ours / published, in per cent, mean of ${rows[0]!.ours.length} seeds`,
    head: [
      '',
      'handed out',
      'least',
      'of what is wanted',
      'useful',
      'wrong hands',
      'most at once',
      'nodes over',
      'messages',
    ],
    rows: rows.map((each) => [
      each.scenario,
      both(each, meanOf('handedOut')),
      both(each, (findings) => percent(Math.min(...findings.map(({ handedOut: part }) => part)))),
      both(each, meanOf('handedOutOfWanted')),
      both(each, meanOf('useful')),
      both(each, meanOf('misallocated')),
      both(each, (findings) => percent(Math.max(...findings.map(({ most }) => most)))),
      both(each, (findings) => mean(findings.map(({ nodesOver }) => nodesOver)).toFixed(0)),
      both(each, (findings) => mean(findings.map(({ messages }) => messages)).toFixed(0)),
    ]),
  }
}

function moves(seeds: readonly number[]): Followed[] {
  const tree = ourSystem()
  const level = ourSystem({ refreshSeconds: 16, eager: true })
  const follow = (where: Scenario, system: typeof tree, move: 'return' | 'leave'): number[] =>
    seeds.map((seed) => secondsToFollow(where, system, seededChances(seed), move, seed % 16))
  const newcomer = (at: number, what: 'something' | 'share'): number[] =>
    seeds.map((seed) => welcome(tree, seededChances(seed), at, (seed % 4) * 10, seed % 8)[what])
  return [
    { title: 'a region comes back, three levels, 8, 4 and 2 s', seconds: follow(TREE, tree, 'return') },
    { title: 'a region leaves', seconds: follow(TREE, tree, 'leave') },
    { title: '15 of 45 clients come back, one server, 16 s', seconds: follow(LEVEL, level, 'return') },
    ...[0, 1, 2].flatMap((at) => [
      { title: `new client after a change of master at level ${at}: something`, seconds: newcomer(at, 'something') },
      { title: `new client after a change of master at level ${at}: 90 %`, seconds: newcomer(at, 'share') },
    ]),
  ]
}

function median(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)]!
}

function percent(part: number): string {
  return (100 * part).toFixed(1)
}
