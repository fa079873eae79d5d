import { flows, type Returning, returning, runs, type Served, served } from '../simulation/queue/index.js'
import type { Effort, Figure, Table, Tell } from './figure.js'
import { SEEDS, seedsOf } from './measure.js'
import { beside, digits, percent } from './numbers.js'

/**
 * Ten slots. Narrow requests of 10 ms keep nine of them busy; twice a second a request arrives that needs eight at
 * once. Its flow has a weight of eight, so that it does not also have to save up for its turn.
 */
const NARROW = flows('narrow', 20, { perSecond: 45 }).map((each) => ({ ...each, workMs: 10 }))
const WIDE = flows('wide', 1, { perSecond: 2, width: 8 }).map((each) => ({ ...each, workMs: 10 }))
const weightOfWide = (flow: string): number => (flow.startsWith('wide') ? 8 : 1)

/** Bypass bound of a wide request, as a multiple of its width, and its waits as published: p50 and p99 in ms. */
const BYPASSES: readonly [bypass: number, published: readonly [number, number]][] = [
  [0, [13, 31]],
  [1, [22, 42]],
  [2, [30, 48]],
  [4, [47, 70]],
  [8, [79, 107]],
  [1e6, [469, 2858]],
]

/** Ten slots of 100 ms (exponential), so 100 requests a second; 40 light flows ask for 20 of them. */
const LIGHT = flows('light', 40, { perSecond: 0.5, returns: 20 })

/** Demands of heavy flows, whose clients return when told, up to 20 times. */
const RETURNING = [
  { title: 'five flows ask for 125/s together', traffic: flows('heavy', 5, { perSecond: 25, returns: 20 }) },
  {
    title: 'one flow asks for 300/s, for 5 s',
    traffic: flows('heavy', 1, { perSecond: 300, fromMs: 10_000, untilMs: 15_000, returns: 20 }),
  },
] as const

/** Bands whose flows each ask for twice the capacity, and each band's intended share of the starts. */
const BANDS = [
  { flow: 'first', minShare: undefined, share: 0.85 },
  { flow: 'second', minShare: 0.1, share: 0.1 },
  { flow: 'third', minShare: 0.05, share: 0.05 },
] as const
/** Tolerance of a share: a hundredth of it. */
const EXACT = 0.01

/** Five heavy flows, whose clients may give up. */
const OVERLOADS = [
  { title: '150 %, clients stay', perSecond: 26 },
  { title: '150 %, clients leave after 500 ms', perSecond: 26, patienceMs: 500 },
  { title: '105 %, clients leave after 500 ms', perSecond: 17, patienceMs: 500 },
  { title: '90 %, clients leave after 500 ms', perSecond: 14, patienceMs: 500 },
] as const
const SOON_MS = 300

export const waitingRoom: Figure = {
  name: 'waiting-room',
  file: 'sfq-waiting-room',
  about: 'wide requests, bands, clients that come back when they are told to, and newest first',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  async make(effort, tell) {
    const wide = await passing(effort, tell)
    const back = await comingBack(effort, tell)
    const newest = await newestFirst(effort, tell)
    const bands = await bandShares(effort, tell)
    return {
      aims: BANDS.map(({ flow, share }, i) => ({
        what: `part of what starts, ${flow} band`,
        published: share,
        ours: bands[i]!,
        goal: { least: share * (1 - EXACT), most: share * (1 + EXACT) },
        digits: 4,
      })),
      tables: [passingTable(wide), comingBackTable(back), newestTable(newest)],
      pictures: {},
      data: { wide, back, newest, bands },
    }
  },
}

type Passing = { bypass: number; published: readonly [number, number]; wide: Served; narrow: Served }[]

async function passing(effort: Effort, tell: Tell): Promise<Passing> {
  const results: Passing = []
  for (const [bypass, published] of BYPASSES) {
    tell(`wide requests, bypass ${bypass}`)
    const options = { bypass, weightOf: weightOfWide, maxWaitMs: 60_000, perFlowLimit: 1_000 }
    const scenario = { seconds: 60 * effort.part, options, traffic: [...NARROW, ...WIDE] }
    const stories = await runs(scenario, seedsOf(effort))
    const [wide, narrow] = ['wide', 'narrow'].map((name) => served(stories, name, SOON_MS))
    results.push({ bypass, published, wide: wide!, narrow: narrow! })
  }
  return results
}

function passingTable(results: Passing): Table {
  return {
    id: 'wide',
    title: 'Waits in ms where a request is 8 slots wide; wide: ours / published',
    head: ['bypass', 'wide p50', 'wide p99', 'narrow p50', 'narrow p99'],
    rows: results.map(({ bypass, published, wide, narrow }) => [
      bypass === 1e6 ? 'unbounded' : String(bypass),
      beside(digits(wide.wait50), String(published[0])),
      beside(digits(wide.wait99), String(published[1])),
      digits(narrow.wait50),
      digits(narrow.wait99),
    ]),
  }
}

type ComingBack = { title: string; told: Returning; soon: Returning }[]

async function comingBack(effort: Effort, tell: Tell): Promise<ComingBack> {
  const results: ComingBack = []
  for (const { title, traffic } of RETURNING) {
    tell(`coming back: ${title}`)
    const scenario = { seconds: 60 * effort.part, options: {}, traffic: [...traffic, ...LIGHT] }
    const told = returning(await runs(scenario, seedsOf(effort)), 'heavy')
    const soon = returning(await runs({ ...scenario, tellMs: 1_000 }, seedsOf(effort)), 'heavy')
    results.push({ title, told, soon })
  }
  return results
}

function comingBackTable(results: ComingBack): Table {
  const row = (title: string, { tries, secondAdmitted, told50, took50 }: Returning): string[] => [
    title,
    percent(secondAdmitted),
    tries.toFixed(1),
    (told50 / 1_000).toFixed(1),
    (took50 / 1_000).toFixed(1),
  ]
  return {
    id: 'returning',
    title: 'Refused clients that come back: by appointment, and after 1 s for all',
    head: ['', 'admitted at second try, %', 'tries', 'told, s (median)', 'took, s (median)'],
    rows: results.flatMap(({ title, told, soon }) => [
      row(`${title}: appointments`, told),
      row(`${title}: 1 s for all`, soon),
    ]),
  }
}

type NewestFirst = { title: string; fifo: Served; newest: Served }[]

async function newestFirst(effort: Effort, tell: Tell): Promise<NewestFirst> {
  const results: NewestFirst = []
  for (const { title, perSecond, ...patience } of OVERLOADS) {
    tell(`newest first: ${title}`)
    const scenario = {
      seconds: 30 * effort.part,
      traffic: [...flows('heavy', 5, { perSecond, ...patience }), ...LIGHT],
    }
    const fifo = served(await runs({ ...scenario, options: {} }, seedsOf(effort)), 'heavy', SOON_MS)
    const options = { newestFirst: true } as const
    const newest = served(await runs({ ...scenario, options }, seedsOf(effort)), 'heavy', SOON_MS)
    results.push({ title, fifo, newest })
  }
  return results
}

function newestTable(results: NewestFirst): Table {
  return {
    id: 'newest',
    title: 'Requests of heavy flows that started within 300 ms, and at all, in per cent',
    head: ['', 'oldest first, soon', 'at all', 'newest first, soon', 'at all'],
    rows: results.map(({ title, fifo, newest }) => [
      title,
      ...[fifo, newest].flatMap(({ soon, started }) => [percent(soon), percent(started)]),
    ]),
  }
}

/** Each band's share of the starts, once all bands had requests waiting. */
async function bandShares(effort: Effort, tell: Tell): Promise<number[]> {
  tell('bands')
  const bands = BANDS.map(({ minShare }) => (minShare === undefined ? {} : { minShare }))
  const bandOf = ({ flow }: { readonly flow: string }): number => BANDS.findIndex((band) => band.flow === flow)
  const traffic = BANDS.map(({ flow }) => ({ flow, perSecond: 200, workMs: 100 }))
  const scenario = { seconds: 120 * effort.part, traffic, options: { bands, bandOf, maxWaitMs: 60_000 } }
  const started = (await runs(scenario, seedsOf(effort))).filter(
    ({ startedMs }) => startedMs !== undefined && startedMs >= 1_000 && startedMs < 1_000 * scenario.seconds,
  )
  return BANDS.map(({ flow }) => started.filter((story) => story.flow === flow).length / started.length)
}
