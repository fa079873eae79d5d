import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { SoleUser } from './proof.js'

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
    const wasEmpty = sole.admit(now, cost, cost, (cost * Math.max(1, served)) / now)
    sole.report(wasEmpty, fails)
    heard++
    if (!fails) served++
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

it('a process that was alone finds that it no longer is', () => {
  const random = seededRandom(1)
  const sole = new SoleUser()
  let [now, left] = [0, 5]
  const course = [1, 4].map((processes) => {
    for (let asked = 0; asked < 5_000 * processes; asked++) {
      const pause = -Math.log(1 - random()) / 120
      now += pause
      left = Math.min(5, left + 100 * pause)
      const failed = left < 1
      if (!failed) left--
      if (random() * processes < 1) sole.report(sole.admit(now, 1, 1, 96 / processes), failed)
    }
    return sole.isSole
  })
  expect(course).toEqual([true, false])
})
