import type { Crowd, Resource, Scenario, Workers } from './scenario.js'

const bucket = (rate: number, burst: number): Resource => ({ kind: 'bucket', rate, burst })
const pool = (workers: number, busy: number): Workers => ({ kind: 'pool', workers, busy })

/** The populations with published figures, and the demonstration's. */
export const PUBLISHED: readonly Scenario[] = [
  {
    name: 'api',
    seconds: 300,
    resource: bucket(100, 100),
    crowds: [
      { name: 'steady', flows: 180, rate: 0.5 },
      { name: 'aggressive', flows: 20, rate: 10 },
    ],
  },
  { name: 'flash', seconds: 120, resource: bucket(300, 300), crowds: [{ name: 'shopper', flows: 500, rate: 1 }] },
  {
    name: 'batch',
    seconds: 360,
    resource: bucket(120, 120),
    crowds: [
      { name: 'interactive', flows: 100, rate: 1 },
      { name: 'batch', flows: 10, rate: 30, between: [90, 270] },
    ],
  },
  {
    name: 'noisy',
    seconds: 60,
    resource: bucket(100, 20),
    crowds: [
      { name: 'quiet', flows: 18, rate: 10 / 3 },
      { name: 'noisy', flows: 2, rate: 50 },
    ],
  },
]

/** 60 light flows and 5 heavy ones that ask for twice the capacity; many scenarios below change one thing in this. */
const LIGHT: Crowd = { name: 'light', flows: 60, rate: 1 }
const HEAVY: Crowd = { name: 'heavy', flows: 5, rate: 30 }
const BASE: Scenario = { name: 'base', seconds: 120, resource: bucket(100, 20), crowds: [LIGHT, HEAVY] }

/** Hardly any load, then 18 quiet flows and two heavy ones at once, which ask for more than the capacity. */
const NOISY: Scenario = {
  name: 'noisy after a lull',
  seconds: 60,
  resource: bucket(300, 90),
  crowds: [
    { name: 'first', flows: 1, rate: 80, between: [0, 1] },
    { name: 'quiet', flows: 18, rate: 10, between: [1.5, 60] },
    { name: 'heavy', flows: 2, rate: 150, between: [1.5, 60] },
  ],
}

/** The scenarios by which constants may be chosen. */
export const DEVELOPMENT: readonly Scenario[] = [
  {
    name: 'two flows',
    seconds: 120,
    resource: bucket(8, 4),
    crowds: [
      { name: 'light', flows: 1, rate: 3 },
      { name: 'heavy', flows: 1, rate: 25 },
    ],
  },
  {
    name: 'six flows',
    seconds: 120,
    resource: bucket(15, 8),
    crowds: [
      { name: 'light', flows: 4, rate: 2 },
      { name: 'heavy', flows: 2, rate: 20 },
    ],
  },
  {
    name: 'twelve flows on 5/s',
    seconds: 180,
    resource: bucket(5, 5),
    crowds: [
      { name: 'light', flows: 10, rate: 0.3 },
      { name: 'heavy', flows: 2, rate: 3.5 },
    ],
  },
  {
    name: 'eighteen flows on 20/s',
    seconds: 120,
    resource: bucket(20, 10),
    crowds: [
      { name: 'light', flows: 15, rate: 0.8 },
      { name: 'heavy', flows: 3, rate: 8 },
    ],
  },
  {
    name: 'one very heavy',
    seconds: 120,
    resource: bucket(40, 20),
    crowds: [
      { name: 'light', flows: 16, rate: 1 },
      { name: 'heavy', flows: 3, rate: 8 },
      { name: 'huge', flows: 1, rate: 200 },
    ],
  },
  {
    name: 'slow flows',
    seconds: 300,
    resource: bucket(20, 20),
    crowds: [
      { name: 'slow', flows: 100, rate: 0.1 },
      { name: 'heavy', flows: 5, rate: 10 },
    ],
  },
  {
    name: 'zipf 0.9',
    seconds: 120,
    resource: bucket(300, 100),
    crowds: [{ name: 'flow', flows: 400, rate: 2, zipf: 0.9 }],
  },
  {
    name: 'thousands',
    seconds: 60,
    resource: bucket(3_000, 1_000),
    crowds: [
      { name: 'light', flows: 1_500, rate: 1 },
      { name: 'heavy', flows: 200, rate: 10 },
      { name: 'huge', flows: 20, rate: 80 },
    ],
  },
  {
    name: '200 heavy near the level',
    seconds: 120,
    resource: bucket(200, 100),
    crowds: [
      { name: 'light', flows: 100, rate: 0.5 },
      { name: 'heavy', flows: 200, rate: 1.2 },
    ],
  },
  {
    name: 'bursts of two',
    seconds: 160,
    resource: bucket(100, 20),
    crowds: [
      { name: 'light', flows: 60, rate: 1 },
      { name: 'heavy', flows: 2, rate: 75, bursts: { on: 15, off: 25 } },
    ],
  },
  { ...BASE, name: 'capacity halves', seconds: 180, steps: [step(60, 0.5), step(150, 1)] },
  { ...BASE, name: 'capacity doubles', seconds: 180, steps: [step(60, 2), step(150, 1)], crowds: overloaded(2) },
  { ...BASE, name: 'capacity grows by half', seconds: 180, steps: [step(90, 1.5)] },
  { ...BASE, name: 'outage of 10 s', seconds: 180, steps: [step(60, 0), step(70, 1)] },
  { ...BASE, name: 'outcomes 0.05 s late', reports: { delay: 0.05 } },
  { ...BASE, name: 'outcomes 1 s late', reports: { delay: 1 } },
  { ...BASE, name: 'outcomes 5 s late', reports: { delay: 5 } },
  {
    ...BASE,
    name: 'costs',
    crowds: [
      { name: 'light', flows: 40, rate: 0.4, cost: 3 },
      { name: 'heavy', flows: 5, rate: 4, cost: 6 },
    ],
  },
  {
    ...BASE,
    name: 'weights 1 and 3',
    crowds: [
      { name: 'light', flows: 40, rate: 1 },
      { name: 'one', flows: 4, rate: 30 },
      { name: 'three', flows: 4, rate: 30, weight: 3 },
    ],
  },
  { ...BASE, name: '97 % load', resource: bucket(100, 10), crowds: [{ name: 'flow', flows: 97, rate: 1 }] },
  {
    ...BASE,
    name: 'peaks of 1 s below capacity',
    resource: bucket(100, 100),
    crowds: [{ name: 'flow', flows: 50, rate: 5.2, bursts: { on: 1, off: 2.25 } }],
  },
  { ...BASE, name: 'half load', crowds: [{ name: 'flow', flows: 50, rate: 1 }] },
  {
    name: '60 % load, small bucket',
    seconds: 300,
    resource: bucket(10, 10),
    crowds: [{ name: 'flow', flows: 12, rate: 0.5 }],
  },
  { name: 'pool of 5', seconds: 120, resource: pool(5, 0.1), crowds: pooled(1) },
  { name: 'pool of 20', seconds: 120, resource: pool(20, 0.1), crowds: pooled(4) },
  { name: 'pool of 100', seconds: 60, resource: pool(100, 0.1), crowds: pooled(20) },
  { ...NOISY, name: 'thirty workers, a line of 60', resource: { ...pool(30, 0.1), line: 60 } },
  {
    ...NOISY,
    name: 'thirty workers, a wait of 0.2 s',
    resource: { ...pool(30, 0.1), line: 1_000, patience: 0.2 },
  },
  NOISY,
  {
    ...NOISY,
    name: 'three surges',
    seconds: 120,
    crowds: [
      { name: 'always', flows: 5, rate: 4 },
      { name: 'quiet', flows: 18, rate: 10, bursts: { on: 20, off: 20 } },
      { name: 'heavy', flows: 2, rate: 150, bursts: { on: 20, off: 20 } },
    ],
  },
  { name: 'bucket of 1', seconds: 120, resource: bucket(20, 1), crowds: pooled(0.4) },
  {
    ...BASE,
    name: 'new names',
    crowds: [LIGHT, { name: 'renamed', flows: 1, rate: 100, renamedAfter: 1 }],
  },
  {
    ...BASE,
    name: 'visitors',
    crowds: [{ name: 'visitor', flows: 60, rate: 1, renamedAfter: 1 }, HEAVY],
  },
  { ...BASE, name: 'reports lost and reordered', reports: { delay: 0.05, spread: 0.2, lost: 0.1 } },
  { ...BASE, name: 'clock jumps', jumps: [jump(40, 120), jump(80, -30)] },
]

function step(at: number, times: number): { at: number; times: number } {
  return { at, times }
}

function jump(at: number, by: number): { at: number; by: number } {
  return { at, by }
}

/** The base's crowds, with heavy flows that ask for `times` as much. */
function overloaded(times: number): Crowd[] {
  return [LIGHT, { ...HEAVY, rate: HEAVY.rate * times }]
}

/** Light flows that ask for half of `50 × size` a second, and three heavy ones that ask for two and a half times it. */
function pooled(size: number): Crowd[] {
  return [
    {
      name: 'light',
      flows: Math.max(4, Math.round(25 * size)),
      rate: (25 * size) / Math.max(4, Math.round(25 * size)),
    },
    { name: 'heavy', flows: 3, rate: (125 * size) / 3 },
  ]
}
