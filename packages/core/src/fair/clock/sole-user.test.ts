import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { SoleUser } from './sole-user.js'
import type { Admission } from './state.js'

interface Case {
  /** Largest store of the resource, in requests, and its demand relative to its capacity. */
  readonly store: number
  readonly load: number
  readonly processes?: number
  /** Part of the requests that fail for another reason. */
  readonly unrelated?: number
  readonly cost?: number
}

/** Whether the first of these processes takes itself for the sole user after this number of outcomes. */
function toldAfter(outcomes: number, { store, load, processes = 1, unrelated = 0, cost = 1 }: Case, seed: number) {
  const random = seededRandom(seed)
  const sole = new SoleUser()
  const admission = { at: 0, window: 0, look: 0, isDry: false, running: 0 }
  const perSecond = 100
  let [now, left, heard, served] = [0, store, 0, 0]
  while (heard < outcomes) {
    const pause = -Math.log(1 - random()) / (load * perSecond)
    now += pause
    left = Math.min(store, left + perSecond * pause)
    const isServed = left >= 1
    if (isServed) left--
    if (random() * processes >= 1) continue
    const fails = !isServed || random() < unrelated
    admission.isDry = sole.admit(now, cost, cost, (cost * Math.max(1, served)) / now)
    sole.report(admission, fails)
    heard++
    if (!fails) served++
  }
  return sole.isSole
}

interface Pool {
  readonly workers: number
  /** Requests that may wait. */
  readonly line?: number
  readonly load: number
  readonly processes?: number
  /** Part of the requests that run for long elsewhere, and need no worker. */
  readonly streams?: number
}

/** The same before a pool, in which a request takes a second on average. */
function toldByPool(outcomes: number, { workers, line = 0, load, processes = 1, streams = 0 }: Pool, seed: number) {
  const random = seededRandom(seed)
  const wait = (mean: number): number => -Math.log(1 - random()) * mean
  const sole = new SoleUser()
  /** Ends of what runs in this process, and the requests in the pool. */
  const running: number[] = []
  const pool: { at: number; own: Admission | undefined }[] = []
  let waiting: (Admission | undefined)[] = []
  let [now, heard] = [0, 0]
  const start = (at: number, own: Admission | undefined): void => {
    pool.push({ at: at + wait(1), own })
  }
  let own = 0
  while (heard < outcomes) {
    now += wait(1 / (load * workers))
    for (;;) {
      const first = pool.reduce((least, each, i) => (each.at < (pool[least]?.at ?? Infinity) ? i : least), 0)
      const done = pool[first]
      if (done === undefined || done.at > now) break
      pool.splice(first, 1)
      if (done.own !== undefined) {
        own--
        heard++
        sole.report(done.own, false)
      }
      if (waiting.length > 0) {
        start(done.at, waiting[0])
        waiting = waiting.slice(1)
      }
    }
    const isOwn = random() * processes < 1
    const held = running.filter((end) => end > now).length
    const admission = isOwn ? { at: now, window: 0, look: 0, isDry: false, running: own + held } : undefined
    if (admission !== undefined) admission.isDry = sole.admit(now, 1, 1, (workers / processes) * Math.min(1, load))
    if (isOwn && random() < streams) running.push(now + wait(20))
    else if (pool.length < workers || waiting.length < line) {
      if (isOwn) own++
      if (pool.length < workers) start(now, admission)
      else waiting.push(admission)
    } else if (admission !== undefined) {
      heard++
      sole.report(admission, true)
    }
  }
  return sole.isSole
}

const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
const told = (outcomes: number, each: Case): number => seeds.filter((seed) => toldAfter(outcomes, each, seed)).length

describe('a process', () => {
  it.each([
    [2, 1.2],
    [5, 1.05],
    [5, 1.2],
    [5, 1.5],
    [10, 1.2],
    [20, 1.2],
    [100, 1.5],
  ])('finds out that it is alone before a store of %d at a load of %d', (store, load) => {
    expect(told(2_000, { store, load })).toBe(seeds.length)
  })

  it('finds out by the cost of requests, whatever its unit', () => {
    for (const cost of [2 ** -30, 2 ** 30]) expect(told(2_000, { store: 5, load: 1.2, cost })).toBe(seeds.length)
  })

  it.each([
    [2, 5, 1.2],
    [2, 20, 1.5],
    [2, 20, 3],
    [4, 5, 1.05],
    [4, 100, 1.2],
    [16, 20, 1.2],
  ])('that is one of %d does not believe that it is alone: a store of %d, a load of %d', (processes, store, load) => {
    for (const outcomes of [100, 400, 1_000, 4_000]) expect(told(outcomes, { processes, store, load })).toBe(0)
  })

  it('is not sure before some hundred outcomes', () => {
    expect(told(20, { store: 5, load: 1.2 })).toBe(0)
  })

  it.each([0.05, 0.3])('learns nothing from failures that have another reason: %d of all', (unrelated) => {
    expect(told(4_000, { store: 100, load: 0.6, unrelated })).toBe(0)
  })
})

describe('a process before a pool', () => {
  const toldOf = (each: Pool): number => seeds.filter((seed) => toldByPool(2_000, each, seed)).length

  it.each([
    { workers: 1, load: 0.7 },
    { workers: 5, load: 0.9 },
    { workers: 5, load: 4 },
    { workers: 20, load: 1.2 },
    { workers: 80, load: 2 },
    { workers: 10, line: 10, load: 1.2 },
  ])('finds out that it is alone: %o', (each) => {
    expect(toldOf(each)).toBe(seeds.length)
  })

  it.each([
    { workers: 4, load: 0.9, processes: 2 },
    { workers: 4, load: 4, processes: 2 },
    { workers: 20, load: 1.2, processes: 2 },
    { workers: 10, line: 10, load: 0.9, processes: 2 },
    { workers: 10, load: 0.9, processes: 4 },
  ])('does not believe so if it is not: %o', (each) => {
    expect(toldOf(each)).toBe(0)
  })

  it('is not misled by requests that run on for long without a worker', () => {
    expect(toldOf({ workers: 10, load: 1.2, processes: 2, streams: 0.05 })).toBe(0)
  })
})

it('a process that was alone finds that it no longer is', () => {
  const random = seededRandom(1)
  const sole = new SoleUser()
  const admission = { at: 0, window: 0, look: 0, isDry: false, running: 0 }
  let [now, left] = [0, 5]
  const course = [1, 4].map((processes) => {
    for (let asked = 0; asked < 5_000 * processes; asked++) {
      const pause = -Math.log(1 - random()) / 120
      now += pause
      left = Math.min(5, left + 100 * pause)
      const failed = left < 1
      if (!failed) left--
      if (random() * processes >= 1) continue
      admission.isDry = sole.admit(now, 1, 1, 96 / processes)
      sole.report(admission, failed)
    }
    return sole.isSole
  })
  expect(course).toEqual([true, false])
})
