import type { LoadShedder, Random, ShedPermit } from '@fairlead/core'
import { type ManualClock, manualClock, seededRandom } from '@fairlead/core/testing'
import type { Memory } from './memory.js'

/** Mean size of a request, as a share of the limit. */
const MEAN_SIZE = 0.002
/** Mean duration of a request, in milliseconds. */
const MEAN_HELD_MS = 1_000
/** Downtime of the process after it ran out of memory. */
const DOWN_MS = 5_000

/** A stretch of time with a constant demand. */
export interface Stretch {
  untilMs: number
  /** Offered requests per second. */
  perSecond: number
}

/** 200 requests per second, four times as many from 30 s to 60 s, 120 s in all. */
export const SPIKE: readonly Stretch[] = [
  { untilMs: 30_000, perSecond: 200 },
  { untilMs: 60_000, perSecond: 800 },
  { untilMs: 120_000, perSecond: 200 },
]

export interface Scenario {
  seed: number
  /** Spread of the lognormal sizes: 0.5 is even, 1.5 has a heavy tail. */
  sigma: number
  /** Draws sizes, as multiples of the mean, instead of lognormal ones. */
  drawSize?: (random: Random) => number
  demand: readonly Stretch[]
  makeMemory: () => Memory
  /** The shedder of a process that has just started with this memory; undefined for none. */
  makeShedder: (memory: Memory, clock: ManualClock, random: Random) => LoadShedder | undefined
}

export interface Result {
  outOfMemory: number
  /** Requests that completed, per second of the whole run. */
  goodput: number
  /** Share of requests refused in the last 30 s. */
  refusedLate: number
  /** The shedder at the end. */
  last: LoadShedder | undefined
}

interface Running {
  endsAtMs: number
  size: number
  permit: ShedPermit | undefined
}

/**
 * Poisson arrivals at a process with a limited memory, each holding a lognormal share of it for an exponential time.
 * Running out of memory loses all running requests, and the process is down for 5 s, then restarts without state.
 */
export function simulate(scenario: Scenario): Result {
  const { seed, sigma, drawSize = lognormal(sigma), demand, makeMemory, makeShedder } = scenario
  const random = seededRandom(seed)
  const ofTheShedder = seededRandom(seed + 0.5)
  const clock = manualClock()
  const endMs = demand.at(-1)?.untilMs ?? 0
  const late = { asked: 0, refused: 0 }
  let memory = makeMemory()
  let shedder = makeShedder(memory, clock, ofTheShedder)
  /** Latest end first. */
  let running: Running[] = []
  let served = 0
  let outOfMemory = 0
  let upAtMs = 0

  const finishUntil = (untilMs: number): void => {
    for (let next = running.at(-1); next !== undefined && next.endsAtMs <= untilMs; next = running.at(-1)) {
      clock.advance(next.endsAtMs - clock())
      running.pop()
      memory.give(next.size, clock())
      next.permit?.finish()
      served++
    }
    clock.advance(untilMs - clock())
  }

  for (const arrivalMs of arrivals(demand, random)) {
    // Drawn for every arrival, so that all policies see the same requests.
    const size = MEAN_SIZE * drawSize(random)
    const heldMs = exponential(random) * MEAN_HELD_MS
    finishUntil(arrivalMs)
    if (arrivalMs < upAtMs) continue
    if (arrivalMs >= endMs - 30_000) late.asked++
    const decision = shedder?.tryAdmit()
    if (decision?.admitted === false) {
      if (arrivalMs >= endMs - 30_000) late.refused++
    } else if (memory.take(size, arrivalMs)) {
      insert(running, { endsAtMs: arrivalMs + heldMs, size, permit: decision })
    } else {
      outOfMemory++
      upAtMs = arrivalMs + DOWN_MS
      running = []
      memory = makeMemory()
      shedder = makeShedder(memory, clock, ofTheShedder)
    }
  }
  finishUntil(endMs)
  const refusedLate = late.asked === 0 ? 0 : late.refused / late.asked
  return { outOfMemory, goodput: (served * 1_000) / endMs, refusedLate, last: shedder }
}

/** The mean of `seeds` runs. */
export function average(
  seeds: number,
  scenario: Omit<Scenario, 'seed'>,
): Pick<Result, 'outOfMemory' | 'goodput' | 'refusedLate'> {
  const sum = { outOfMemory: 0, goodput: 0, refusedLate: 0 }
  for (let seed = 1; seed <= seeds; seed++) {
    const result = simulate({ ...scenario, seed })
    sum.outOfMemory += result.outOfMemory / seeds
    sum.goodput += result.goodput / seeds
    sum.refusedLate += result.refusedLate / seeds
  }
  return sum
}

function* arrivals(demand: readonly Stretch[], random: Random): Generator<number> {
  let atMs = 0
  for (const { untilMs, perSecond } of demand) {
    for (;;) {
      const nextMs = atMs + (exponential(random) * 1_000) / perSecond
      if (!(nextMs < untilMs)) break
      atMs = nextMs
      yield atMs
    }
    // Exponential gaps have no memory, so the next stretch starts with a new one.
    atMs = untilMs
  }
}

/** Keeps the latest end first, so that the next one to end is popped. */
function insert(running: Running[], one: Running): void {
  let low = 0
  let high = running.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((running[middle]?.endsAtMs ?? 0) > one.endsAtMs) low = middle + 1
    else high = middle
  }
  running.splice(low, 0, one)
}

function exponential(random: Random): number {
  return -Math.log(1 - random())
}

/** Lognormal with mean 1. */
function lognormal(sigma: number): (random: Random) => number {
  return (random) => Math.exp(sigma * normal(random) - sigma ** 2 / 2)
}

/** Pareto with mean 1: the part above any size x falls as x to the power of -`shape`, which is above 1. */
export function pareto(shape: number): (random: Random) => number {
  return (random) => (shape - 1) / shape / (1 - random()) ** (1 / shape)
}

/** One request in `every` is `times` as large as the others; mean 1. */
export function rareLarge(every: number, times: number): (random: Random) => number {
  const usual = every / (every - 1 + times)
  return (random) => (random() * every < 1 ? times * usual : usual)
}

/** A normal deviate, by Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(2 * exponential(random)) * Math.cos(2 * Math.PI * random())
}
