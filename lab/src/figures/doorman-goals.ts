import type { Findings as Found } from '../simulation/doorman/index.js'
import type { Aim } from './aims.js'
import { mean } from './numbers.js'

/** A scenario in both systems, a run for each seed. */
export interface Row {
  readonly scenario: string
  readonly ours: readonly Found[]
  /** Absent if the published system has no such scenario: its messages take no time. */
  readonly published?: readonly Found[]
}

/** Time until clients have their shares, a run for each seed. Infinite: not within the run. */
export interface Followed {
  readonly title: string
  readonly ours: readonly number[]
  readonly published?: readonly number[]
  /** Our goals: for the median, and for the longest. */
  readonly goal: { readonly median?: number; readonly longest: number }
}

/**
 * One server whose clients want more at intervals; `asks`: messages, if each client asked once per refresh interval.
 */
export interface Spikes {
  readonly found: readonly Found[]
  readonly asks: number
}

type Measure = (found: readonly Found[]) => number

/** The goals: capacity, what we want, and the results; the figures that represent the rest. */
export function doormanAims(rows: readonly Row[], followed: readonly Followed[], spikes: Spikes): Aim[] {
  const at = (scenario: string): Row => rows.find((row) => row.scenario === scenario)!
  const both = (what: string, scenario: string, measure: Measure, goal: Aim['goal'], digits = 1): Aim => {
    const { ours, published } = at(scenario)
    return { what, published: published && measure(published), ours: measure(ours), goal: goal!, digits }
  }
  const handedOut = (what: string, scenario: string, least: number): Aim =>
    both(`handed out, ${what}, % of capacity`, scenario, percentOf('handedOut'), { least })
  const useful = (scenario: string): Aim => {
    const published = percentOf('useful')(at(scenario).published!)
    const what = `handed out and wanted, ${scenario}, %; no worse than published, but for 0.2`
    return both(what, scenario, percentOf('useful'), { least: Number(published.toFixed(1)) - 0.2 })
  }
  const messages = (scenario: string): Aim => {
    const { ours, published } = at(scenario)
    const part = (100 * meanOf('messages', ours)) / meanOf('messages', published!)
    return { what: `messages, ${scenario}, % of published`, published: 100, ours: part, goal: { most: 104 } }
  }
  const ours = rows.flatMap((row) => row.ours)
  const published = rows.flatMap((row) => row.published ?? [])
  return [
    handedOut('an hour with mishaps (seven)', 'seven', 99),
    both('the same, worst run', 'seven', worst, { least: 97 }),
    handedOut('seven, messages of 0 to 1 s, 2 % lost', 'seven, 0 to 1 s, 2 % lost', 98),
    handedOut('seven, the other reading of the mishap table', 'seven, the table as written', 98.3),
    handedOut('the tree at peace (five)', 'five', 99.5),
    handedOut('two spikes (six)', 'six', 99.5),
    handedOut('five for an hour', 'five for an hour', 99),
    handedOut('70 s without a master (three)', 'three', 90),
    ...['one', 'two', 'four'].map((name) =>
      both(`handed out, ${name}, % of what is wanted or there`, name, percentOf('handedOutOfWanted'), { least: 99.5 }),
    ),
    ...['one', 'two', 'four'].map(useful),
    {
      what: 'most that clients ever had, any scenario, % of capacity',
      published: most(published),
      ours: most(ours),
      goal: { most: 100 },
    },
    both('samples over the capacity in an hour of seven, of 708', 'seven', (found) => meanOf('samplesOver', found), {
      most: 0,
    }),
    both('times a node had less than its children, hour of seven', 'seven', nodesOver, { most: 0 }, 0),
    both('in the wrong hands, seven, %', 'seven', percentOf('misallocated'), { most: 2 }),
    ...followed.flatMap(waits),
    ...['five', 'six', 'seven'].map(messages),
    {
      what: 'handed out, one server, refresh 16 s, a spike a minute, %',
      ours: percentOf('handedOut')(spikes.found),
      goal: { least: 99.6 },
    },
    {
      what: 'messages per refresh interval',
      ours: meanOf('messages', spikes.found) / spikes.asks,
      goal: { most: 1.4 },
      digits: 2,
    },
  ]
}

function waits({ title, ours, published, goal }: Followed): Aim[] {
  const aim = (name: string, of: (seconds: readonly number[]) => number, limit: number): Aim => ({
    what: `${title}: ${name}, s`,
    published: published && of(published),
    ours: of(ours),
    goal: { most: limit },
    digits: 0,
  })
  const longest = aim('longest', (seconds) => Math.max(...seconds), goal.longest)
  return goal.median === undefined ? [longest] : [aim('median', medianOf, goal.median), longest]
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)]!
}

export function meanOf(key: keyof Found, found: readonly Found[]): number {
  return mean(found.map((each) => each[key]))
}

export function percentOf(key: keyof Found): Measure {
  return (found) => 100 * meanOf(key, found)
}

/** The least capacity that was handed out in a run, in per cent. */
export function worst(found: readonly Found[]): number {
  return 100 * Math.min(...found.map(({ handedOut }) => handedOut))
}

/** The most that clients had together, in any run at any instant, in per cent. */
export function most(found: readonly Found[]): number {
  return 100 * Math.max(...found.map((each) => each.most))
}

export function nodesOver(found: readonly Found[]): number {
  return meanOf('nodesOver', found)
}
