import type { Random } from '@fairlead/core'
import type { Machine } from './service.js'
import { exponential, type Scenario, type Stretch } from './simulate.js'

/** A change and the way back: three phases of equal length. Each is judged in its second half. */
export interface Trial {
  name: string
  stretches: readonly Stretch[]
  /**
   * Requests per second of the best fixed limit in the second half of each phase. Found by running `fixed(n)` for 14
   * limits n from 4 to 192 with 30 seeds (hold-outs: 15 from 1 to 400) and taking the largest mean; the limit
   * was mostly the number of cores, times (work + elsewhere) / work.
   */
  best: readonly [number, number, number]
  /** Share of `best` that the limit must reach in each phase. */
  least: readonly [number, number, number]
}

function sharing(cores: number, workMs: number, more: Partial<Machine> = {}): Machine {
  return { kind: 'sharing', cores, workMs, ...more }
}

function servers(cores: number, workMs: number, more: Partial<Machine> = {}): Machine {
  return { kind: 'servers', cores, workMs, ...more }
}

function trial(
  name: string,
  machines: readonly [Machine, Machine],
  best: Trial['best'],
  least: Trial['least'] = [0.9, 0.9, 0.9],
  phaseMs = 20_000,
): Trial {
  const [before, during] = machines
  return { name, best, least, stretches: [before, during, before].map((machine) => ({ forMs: phaseMs, machine })) }
}

/** The scenarios by which the rule was chosen. */
export const TABLE: readonly Trial[] = [
  trial('16 cores, then 32, 50 ms', [sharing(16, 50), sharing(32, 50)], [318.1, 639.8, 320.7]),
  trial('16 servers, then 32, 50 ms', [servers(16, 50), servers(32, 50)], [318.1, 640.2, 320.7]),
  trial(
    '8 cores, then 16, 20 ms and 80 ms elsewhere',
    [sharing(8, 20, { elsewhereMs: 80 }), sharing(16, 20, { elsewhereMs: 80 })],
    [354.7, 693.5, 356.4],
  ),
  trial('64 cores, then 128, 20 ms', [sharing(64, 20), sharing(128, 20)], [3197, 6399, 3197]),
  // At 20 requests per second, ten seconds are four windows: below 0.9 by random variation, and in the first phase by
  // the climb, which needs some seconds to detect that 20 is too much already.
  trial('4 cores, then 8, 200 ms', [sharing(4, 200), sharing(8, 200)], [19.6, 40.1, 20.1], [0.7, 0.88, 0.85]),
  trial('16 servers, work 50 ms, then 250 ms', [servers(16, 50), servers(16, 250)], [318.1, 63.8, 319.1]),
  // The knee moves by three, and all requests leave in step: waves of 400 ms.
  trial(
    '8 cores, 20 ms and 80 ms elsewhere, then 400 ms',
    [sharing(8, 20, { elsewhereMs: 80 }), sharing(8, 20, { elsewhereMs: 400 })],
    [354.7, 301.4, 356.0],
    [0.9, 0.84, 0.88],
  ),
  trial(
    '16 servers, 10 ms, 5 % then 30 % of 410 ms',
    [servers(16, 10, { slowShare: 0.05, slowWorkMs: 400 }), servers(16, 10, { slowShare: 0.3, slowWorkMs: 400 })],
    [526.7, 122.7, 528.3],
  ),
  trial(
    '16 cores, 10 ms, 5 % then 30 % of 410 ms',
    [sharing(16, 10, { slowShare: 0.05, slowWorkMs: 400 }), sharing(16, 10, { slowShare: 0.3, slowWorkMs: 400 })],
    [526.7, 122.1, 527.0],
  ),
]

/** Held-out scenarios: other sizes, rhythms and shapes. */
export const HOLD_OUTS: readonly Trial[] = [
  trial('12 cores, then 40', [sharing(12, 30), sharing(40, 30)], [399.9, 1307, 401], [0.9, 0.9, 0.9], 27_000),
  trial('10 servers, then 30', [servers(10, 100), servers(30, 100)], [100, 300.5, 100], [0.9, 0.9, 0.9], 33_000),
  trial(
    '6 cores, then 9, 15 ms and 150 ms elsewhere',
    [sharing(6, 15, { elsewhereMs: 150 }), sharing(9, 15, { elsewhereMs: 150 })],
    [335.7, 503.7, 336.1],
    [0.88, 0.88, 0.88],
    23_000,
  ),
  trial('24 cores, work 30 ms, then 90 ms', [sharing(24, 30), sharing(24, 90)], [800.6, 266.3, 799], undefined, 25_000),
  trial(
    '12 cores, 10 ms and 60 ms elsewhere, then 180 ms',
    [sharing(12, 10, { elsewhereMs: 60 }), sharing(12, 10, { elsewhereMs: 180 })],
    [962, 1020, 962],
    [0.9, 0.77, 0.9],
    25_000,
  ),
  trial(
    '8 cores, 20 ms and 320 ms elsewhere, then 80 ms',
    [sharing(8, 20, { elsewhereMs: 320 }), sharing(8, 20, { elsewhereMs: 80 })],
    [291.3, 346.2, 291.4],
    [0.9, 0.9, 0.9],
    25_000,
  ),
  trial(
    '16 cores, then 32, all requests alike',
    [sharing(16, 50, { spread: 'none' }), sharing(32, 50, { spread: 'none' })],
    [320, 640, 320],
    [0.9, 0.9, 0.9],
    23_000,
  ),
  trial('1 core, then 2, 5 ms', [sharing(1, 5), sharing(2, 5)], [200.4, 401.5, 200.8], [0.77, 0.88, 0.85], 23_000),
  trial('1 server, then 2, 20 ms', [servers(1, 20), servers(2, 20)], [50, 100.7, 50.3], undefined, 33_000),
  trial('2 cores, then 3, 50 ms', [sharing(2, 50), sharing(3, 50)], [39.8, 59.8, 40.2], [0.6, 0.82, 0.84], 33_000),
  trial('16 servers, then 32, 10 s', [servers(16, 1e4), servers(32, 1e4)], [1.6, 3.22, 1.61], undefined, 1e6),
  trial('16 cores, then 8, 3 s', [sharing(16, 3_000), sharing(8, 3_000)], [5.35, 2.64, 5.35], [0.9, 0.88, 0.9], 4e5),
  trial('200 cores, then 400, 100 ms', [sharing(200, 100), sharing(400, 100)], [2001, 3997, 1999]),
]

/** Full demand in {@link fallen}: a minute before the fall, half a minute in it, two and a half minutes after it. */
export const FALL_S = { from: 60, until: 90, end: 240 } as const

/**
 * Sixteen cores of 50 ms, of which thirteen are gone for half a minute, where requests are given up after `timeoutMs`.
 */
export function fallen(timeoutMs: number, spread: 'exponential' | 'none', seed: number): Scenario {
  const stretches = [16, 3, 16].map((cores, at) => ({
    forMs: 1_000 * [FALL_S.from, FALL_S.until - FALL_S.from, FALL_S.end - FALL_S.until][at]!,
    machine: sharing(cores, 50, { timeoutMs, spread }),
  }))
  return { seed, stretches }
}

/**
 * Sixteen cores behind a cache: hits take a millisecond, use no core, and hide the thrashing of the cores from
 * averages.
 */
export const CACHED: readonly Machine[] = [0.1, 0.5].flatMap((thrashing) =>
  [0.2, 1 / 3, 0.5, 0.8].map((quickShare) => sharing(16, 50, { quickShare, thrashing })),
)

/** A service without a shortage: each request waits elsewhere for a drawn time, independent of the number in flight. */
export interface Unbounded {
  name: string
  /** Duration of a request, in milliseconds, drawn. */
  lastingMs: (random: Random, nowMs: number) => number
  /** Mean of that. */
  meanMs: number
  /** Number of simultaneous arrivals. @default 1 */
  together?: number
}

/** Slots that an unbounded service needs to serve the whole demand. */
export const NEEDED = 200

/** Durations that a rule which compares means may mistake for congestion. */
export const UNBOUNDED: readonly Unbounded[] = [
  { name: 'always 1 s', lastingMs: () => 1_000, meanMs: 1_000 },
  { name: 'always 5 s', lastingMs: () => 5_000, meanMs: 5_000 },
  { name: '1 s ± 10 %', lastingMs: (random) => 900 + 200 * random(), meanMs: 1_000 },
  { name: 'exponential, 5 s', lastingMs: (random) => exponential(random, 5_000), meanMs: 5_000 },
  { name: '1 ms, half of them 5 s', lastingMs: (random) => (random() < 0.5 ? 5_000 : 1), meanMs: 2_500.5 },
  { name: '1 ms, 10 % of them 5 s', lastingMs: (random) => (random() < 0.1 ? 5_000 : 1), meanMs: 500.9 },
  { name: '1 ms, 1 % of them 5 s', lastingMs: (random) => (random() < 0.01 ? 5_000 : 1), meanMs: 50.99 },
  {
    name: '20 ms, 5 % time out after 5 s',
    lastingMs: (random) => (random() < 0.05 ? 5_000 : exponential(random, 20)),
    meanMs: 269,
  },
  {
    name: '20 ms, 20 % time out after 30 s',
    lastingMs: (random) => (random() < 0.2 ? 30_000 : exponential(random, 20)),
    meanMs: 6_016,
  },
  { name: '1 s, 200 arrive at once', lastingMs: () => 1_000, meanMs: 1_000, together: 200 },
  { name: '5 s, 40 arrive at once', lastingMs: () => 5_000, meanMs: 5_000, together: 40 },
]

/** Streams of ten minutes among quick requests: nothing ends while they fill a limit. */
export const STREAMS: Unbounded = {
  name: '20 ms, 1 % of them 10 min',
  lastingMs: (random) => (random() < 0.01 ? exponential(random, 600_000) : exponential(random, 20)),
  meanMs: 6_020,
}

/** A wait of 50 to 250 ms that rises and falls for all requests together, in waves of `periodMs`. */
export function swinging(periodMs: number): Unbounded {
  return {
    name: `50 to 250 ms in waves of ${periodMs / 1_000} s`,
    lastingMs: (_, nowMs) => 150 - 100 * Math.cos((2 * Math.PI * nowMs) / periodMs),
    meanMs: 150,
  }
}

/** A wait of 50 or 250 ms in turn for all requests, for half a second each, times 1 ± `spread` for each request. */
export function alternating(spread: number): Unbounded {
  return {
    name: `50 or 250 ms in turn, ± ${100 * spread} %`,
    lastingMs: (random, nowMs) => (Math.floor(nowMs / 500) % 2 === 0 ? 50 : 250) * (1 + spread * (2 * random() - 1)),
    meanMs: 150,
  }
}

/**
 * The same wait as in {@link swinging} after sixteen cores of 50 ms, of which four fifths are asked for: for ten
 * minutes.
 */
export function swingingBehindCores(periodMs: number, seed: number): Scenario {
  const machine = sharing(16, 50, { elsewhereMs: swinging(periodMs).lastingMs })
  const stretches = [{ forMs: 600_000, machine, perSecond: SWINGING_ASKED }]
  return { seed, stretches, maxWaiting: NEEDED, patienceMs: 2_000 }
}

/** Requests per second in {@link swingingBehindCores}. */
export const SWINGING_ASKED = 256

/** Five minutes of an unbounded service, with requests that leave after two seconds in the queue. */
export function unbounded(service: Unbounded, seed: number): Scenario {
  return { seed, stretches: [stretchOf(service, 300_000)], maxWaiting: NEEDED, patienceMs: 2_000 }
}

/** The same without a queue: a request that finds no free slot leaves at once, so slots are free for moments. */
export function queueless(service: Unbounded, seed: number): Scenario {
  return { ...unbounded(service, seed), maxWaiting: 0, patienceMs: 0 }
}

/** Duration of the shortage in {@link afterShortage}, until capacity is free. */
export const SHORTAGE_MS = 120_000

/** Ten minutes of it, after four cores were full at a limit of about five. */
export function afterShortage(service: Unbounded, seed: number): Scenario {
  const shortage = { forMs: SHORTAGE_MS, machine: sharing(4, 50) }
  return { seed, stretches: [shortage, stretchOf(service, 600_000)], maxWaiting: NEEDED, patienceMs: 2_000 }
}

function stretchOf({ lastingMs, meanMs, together }: Unbounded, forMs: number): Stretch {
  const machine: Machine = { kind: 'sharing', cores: 1, workMs: 0, elsewhereMs: lastingMs }
  return { forMs, machine, perSecond: (NEEDED / meanMs) * 1_000, together: together ?? 1 }
}
