import { linear, logistic, step } from '@fairlead/core'
import {
  byLiveHeap,
  byMeter,
  CollectedHeap,
  none,
  PlainMemory,
  RANGE,
  type Scenario,
  SPIKE,
  StickyMemory,
  type Stretch,
} from '../../simulation/shed/index.js'

/**
 * A process with a limited memory: limit 1, base 0.30; each request holds a lognormal share (mean 0.002) for 1 s on the
 * average (exponential). Running out loses all that runs and 5 s; the process then starts anew, knowing nothing.
 */
export interface Trial {
  readonly sigma: number
  readonly sampleEveryMs: number
  readonly demand: readonly Stretch[]
  readonly makeMemory: Scenario['makeMemory']
}

export interface LotGoal {
  readonly mostOutOfMemory?: number
  readonly leastGoodput?: number
  /** Part of the requests that may be refused in the last 30 s. */
  readonly mostLate?: number
}

/** Times out of memory, and requests served per second. */
export type Published = readonly [outOfMemory: number, goodput: number]

export interface Policy {
  readonly title: string
  make(sampleEveryMs: number): Scenario['makeShedder']
}

export type PolicyName = 'none' | 'step' | 'linear' | 'logistic' | 'reservedLinear' | 'reserved' | 'live'

/** From 0.75 to 0.95 of the limit. From `reservedLinear` on with the requests admitted since the last sample. */
export const POLICIES: Readonly<Record<PolicyName, Policy>> = {
  none: { title: 'no shedding', make: () => none },
  step: { title: 'step', make: (everyMs) => byMeter(everyMs, 'sampled', step(RANGE)) },
  linear: { title: 'linear', make: (everyMs) => byMeter(everyMs, 'sampled', linear(RANGE)) },
  logistic: { title: 'logistic', make: (everyMs) => byMeter(everyMs, 'sampled', logistic(RANGE)) },
  reservedLinear: {
    title: 'linear, with the reserve',
    make: (everyMs) => byMeter(everyMs, 'reserved', linear(RANGE)),
  },
  reserved: { title: 'logistic, with the reserve', make: (everyMs) => byMeter(everyMs) },
  live: { title: 'with the reserve, on live memory after a collection', make: byLiveHeap },
}

const plain = (): PlainMemory => new PlainMemory()

/** Four times the demand from 30 s to 60 s of 120 s, by spread of sizes and time between samples. */
export interface Column {
  readonly title: string
  readonly trial: Trial
  readonly published: Partial<Record<PolicyName, Published>>
  /** Of the whole rule. */
  readonly goal: LotGoal
}

function column(
  sigma: number,
  sampleEveryMs: number,
  published: Column['published'],
  mostOutOfMemory: number,
  leastGoodput: number,
): Column {
  return {
    title: `σ ${sigma}, ${sampleEveryMs} ms`,
    trial: { sigma, sampleEveryMs, demand: SPIKE, makeMemory: plain },
    published,
    goal: { mostOutOfMemory, leastGoodput },
  }
}

export const COLUMNS: readonly Column[] = [
  column(0.5, 50, { none: [6, 147], step: [0, 205], linear: [0, 220], logistic: [0, 219], reserved: [0, 218] }, 0, 215),
  column(
    0.5,
    500,
    { none: [6, 147], step: [6, 144], linear: [5.9, 148], logistic: [6, 147], reserved: [0, 216] },
    0,
    210,
  ),
  column(
    0.5,
    1_000,
    { none: [6, 147], step: [5.5, 146], linear: [5.8, 148], logistic: [5.8, 149], reserved: [0, 214] },
    0,
    208,
  ),
  column(
    1.5,
    500,
    { none: [7.6, 131], step: [5.9, 136], linear: [6.1, 142], logistic: [6.1, 143], reserved: [0.8, 192] },
    1.2,
    183,
  ),
  column(
    1.5,
    1_000,
    { none: [7.3, 135], step: [5.6, 134], linear: [6, 143], logistic: [6.2, 141], reserved: [0.9, 186] },
    1.4,
    178,
  ),
]

/** Other disturbances of a process. */
export interface Row {
  readonly title: string
  readonly policy: PolicyName
  readonly trial: Trial
  readonly published?: Published
  /** Part of the requests of the last 30 s that were refused, to a hundredth. */
  readonly publishedLate?: number
  readonly goal?: LotGoal
}

const times = (factor: number): Stretch[] =>
  SPIKE.map(({ untilMs }, i) => ({ untilMs, perSecond: i === 1 ? 200 * factor : 200 }))
const FROM_THE_START: readonly Stretch[] = [{ untilMs: 60_000, perSecond: 800 }]
const AFTER_SILENCE: readonly Stretch[] = [
  { untilMs: 60_000, perSecond: 0 },
  { untilMs: 80_000, perSecond: 800 },
]
/** So low at the end that no request is refused at random, as a few in a thousand are at 200/s, or with σ = 1.5. */
const FALLING: readonly Stretch[] = [
  { untilMs: 30_000, perSecond: 800 },
  { untilMs: 90_000, perSecond: 100 },
]
const EVEN: readonly Stretch[] = [{ untilMs: 90_000, perSecond: 100 }]
const heap = (): CollectedHeap => new CollectedHeap()
const sticky = (): StickyMemory => new StickyMemory()
const trial = (
  demand: readonly Stretch[],
  makeMemory: Trial['makeMemory'],
  sampleEveryMs: number,
  sigma = 0.5,
): Trial => ({
  sigma,
  sampleEveryMs,
  demand,
  makeMemory,
})

const OF_THE_HEAP: LotGoal = { mostOutOfMemory: 0.3, leastGoodput: 210, mostLate: 0 }
const OF_WHAT_STICKS: LotGoal = { mostOutOfMemory: 0, mostLate: 0.05 }

export const ROWS: readonly Row[] = [
  {
    title: 'eight times the demand, 500 ms',
    policy: 'reserved',
    trial: trial(times(8), plain, 500),
    published: [0, 218],
    publishedLate: 0,
    goal: { mostOutOfMemory: 0 },
  },
  {
    title: '800/s from the first request on, 1 s',
    policy: 'logistic',
    trial: trial(FROM_THE_START, plain, 1_000),
    published: [10.6, 80],
  },
  {
    title: '800/s from the first request on, 1 s',
    policy: 'reserved',
    trial: trial(FROM_THE_START, plain, 1_000),
    published: [0, 244],
    goal: { mostOutOfMemory: 0 },
  },
  {
    title: 'silent for 60 s, then 800/s, 1 s',
    policy: 'logistic',
    trial: trial(AFTER_SILENCE, plain, 1_000),
    published: [4.8, 6],
  },
  {
    title: 'silent for 60 s, then 800/s, 1 s',
    policy: 'reserved',
    trial: trial(AFTER_SILENCE, plain, 1_000),
    published: [0, 59],
    goal: { mostOutOfMemory: 0 },
  },
  {
    title: '800/s for 30 s, then 100/s, 500 ms',
    policy: 'reserved',
    trial: trial(FALLING, plain, 500),
    goal: { mostLate: 0 },
  },
  { title: 'the same, σ 1.5', policy: 'reserved', trial: trial(FALLING, plain, 500, 1.5) },
  { title: '100/s throughout, σ 1.5, 500 ms', policy: 'reserved', trial: trial(EVEN, plain, 500, 1.5) },
  ...(
    [
      [50, [0, 38], 0.84, [0, 36], 0.84, [0, 217]],
      [500, [3.5, 76], 0.57, [0, 116], 0.39, [0.1, 216]],
    ] as const
  ).flatMap(([everyMs, bare, bareLate, reserved, reservedLate, live]): Row[] => [
    {
      title: `collected heap, by heap used, ${everyMs} ms`,
      policy: 'logistic',
      trial: trial(SPIKE, heap, everyMs),
      published: bare,
      publishedLate: bareLate,
    },
    {
      title: `collected heap, by heap used, ${everyMs} ms`,
      policy: 'reserved',
      trial: trial(SPIKE, heap, everyMs),
      published: reserved,
      publishedLate: reservedLate,
    },
    {
      title: `collected heap, ${everyMs} ms`,
      policy: 'live',
      trial: trial(SPIKE, heap, everyMs),
      published: live,
      publishedLate: 0,
      goal: OF_THE_HEAP,
    },
  ]),
  ...(
    [
      [50, [0, 134], 0.54, [0, 184], 0.01],
      [500, [3.2, 58], 0.95, [0, 169], 0.03],
    ] as const
  ).flatMap(([everyMs, bare, bareLate, reserved, reservedLate]): Row[] => [
    {
      title: `resident set that sticks, ${everyMs} ms`,
      policy: 'logistic',
      trial: trial(SPIKE, sticky, everyMs),
      published: bare,
      publishedLate: bareLate,
    },
    {
      title: `resident set that sticks, ${everyMs} ms`,
      policy: 'reserved',
      trial: trial(SPIKE, sticky, everyMs),
      published: reserved,
      publishedLate: reservedLate,
      goal: OF_WHAT_STICKS,
    },
  ]),
]
