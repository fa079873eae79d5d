import type { Findings as Found } from '@fairlead/core/simulation/lease'
import type { Table } from './figure.js'
import { mean } from './numbers.js'

/** A scenario in both systems, a run for each seed. */
export interface Row {
  readonly scenario: string
  readonly ours: readonly Found[]
  /** Absent where the published system has no such thing: its messages take no time. */
  readonly published?: readonly Found[]
}

/** How long clients wait for what they should have, a run for each seed. Infinite: not within the run. */
export interface Followed {
  readonly title: string
  readonly ours: readonly number[]
  readonly published?: readonly number[]
  /** What we set ourselves: the median, and the longest. */
  readonly goal: { readonly median?: number; readonly longest: number }
}

/** One server whose clients want more now and then; `asks`: messages, if each asked once per refresh interval. */
export interface Spikes {
  readonly found: readonly Found[]
  readonly asks: number
}

type Show = (found: readonly Found[]) => string

/** What there is, what we want, and what came of it: the table that answers for the rest. */
export function goalsTable(rows: readonly Row[], followed: readonly Followed[], spikes: Spikes): Table {
  const at = (scenario: string): Row => rows.find((row) => row.scenario === scenario)!
  const line = (what: string, scenario: string, show: Show, goal: string): string[] => {
    const { ours, published } = at(scenario)
    return [what, published === undefined ? '–' : show(published), show(ours), goal]
  }
  const messages = (scenario: string, name: string): string[] => {
    const { ours, published } = at(scenario)
    const part = meanOf('messages', ours) / meanOf('messages', published!)
    return [`messages, ${name}, % of published`, '100', percent(part), '≤ 104']
  }
  const all = rows.flatMap(({ ours }) => ours)
  const beside = rows.flatMap(({ published = [] }) => published)
  return {
    title: `What was aimed at: ${rows[0]!.ours.length} seeds, after 60 s`,
    head: ['', 'published', 'ours', 'goal'],
    rows: [
      line('handed out, seven, % of capacity', 'seven', meanPercent('handedOut'), '≥ 99.0'),
      line('the same, worst run', 'seven', worst, '≥ 97'),
      line('seven, mishap table as written', 'seven, the table as written', meanPercent('handedOut'), '≥ 98.3'),
      line('seven, messages of 0 to 1 s, 2 % lost', 'seven, 0 to 1 s, 2 % lost', meanPercent('handedOut'), '≥ 98.0'),
      line('five', 'five', meanPercent('handedOut'), '≥ 99.5'),
      line('six', 'six', meanPercent('handedOut'), '≥ 99.5'),
      line('five for an hour', 'five for an hour', meanPercent('handedOut'), '≥ 99.0'),
      line('three', 'three', meanPercent('handedOut'), '≥ 90'),
      ...['one', 'two', 'four'].map((name) =>
        line(`${name}, % of what is wanted or there`, name, meanPercent('handedOutOfWanted'), '≥ 99.5'),
      ),
      ...['one', 'two', 'four'].map((name) =>
        line(`${name}, that and no more than wanted`, name, meanPercent('useful'), '≥ published − 0.2'),
      ),
      ['most that clients ever had, any scenario, % of capacity', most(beside), most(all), '100'],
      line('samples over capacity in an hour of seven', 'seven', samplesOver, '0'),
      line('times a node had less than its children, hour of seven', 'seven', nodesOver, '0'),
      line('in the wrong hands, seven, %', 'seven', meanPercent('misallocated'), '≤ 2'),
      ...followed.map(({ title, ours, published, goal }) => [
        `${title}, s: ${goal.median === undefined ? '' : 'median, '}longest`,
        published === undefined ? '–' : spread(published, goal.median !== undefined),
        spread(ours, goal.median !== undefined),
        goal.median === undefined ? `≤ ${goal.longest}` : `${goal.median}, ≤ ${goal.longest}`,
      ]),
      ...['five', 'six', 'seven'].map((name) => messages(name, name)),
      ['one server, refresh 16 s, a spike a minute: handed out', '–', meanPercent('handedOut')(spikes.found), '≥ 99.6'],
      ['messages per refresh interval', '–', (meanOf('messages', spikes.found) / spikes.asks).toFixed(2), '≤ 1.4'],
    ],
  }
}

/** Median and longest; or only the longest. */
function spread(seconds: readonly number[], median: boolean): string {
  const longest = whole(Math.max(...seconds))
  return median ? `${whole(medianOf(seconds))}, ${longest}` : longest
}

/** Nobody is watched for longer than about that. */
function whole(seconds: number): string {
  return Number.isFinite(seconds) ? seconds.toFixed(0) : '> 180'
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)]!
}

export function meanOf(key: keyof Found, found: readonly Found[]): number {
  return mean(found.map((each) => each[key]))
}

export function meanPercent(key: keyof Found): Show {
  return (found) => percent(meanOf(key, found))
}

/** The least that was handed out in a run. */
export const worst: Show = (found) => percent(Math.min(...found.map(({ handedOut }) => handedOut)))

/** The most that clients had together, in any run at any instant. */
export const most: Show = (found) => percent(Math.max(...found.map((each) => each.most)))

export const nodesOver: Show = (found) => meanOf('nodesOver', found).toFixed(0)

const samplesOver: Show = (found) => meanOf('samplesOver', found).toFixed(1)

function percent(part: number): string {
  return (100 * part).toFixed(1)
}
