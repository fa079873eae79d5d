import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { runService, type Service, type Tally } from '../fixtures/service.js'
import { Delivery } from './capacity.js'

const CAPACITY = 100

/** A clock that knows the capacity. */
function known(): Delivery {
  const delivery = new Delivery()
  delivery.shows(CAPACITY, true, CAPACITY, 1, false)
  return delivery
}

/** Serves `perSecond` for this time, then fails. Returns the part by which more was tried at the end. */
function boldness(delivery: Delivery, seconds = 6, perSecond = CAPACITY): number {
  delivery.runs(0)
  for (let i = 1; i <= seconds * perSecond; i++) delivery.serves(1, true)
  const tried = delivery.tried(seconds, 0.02, 0) / delivery.perSecond - 1
  for (let i = 0; i < 50; i++) delivery.fails(seconds)
  return tried
}

describe('a run that finds no more, and ends in failures', () => {
  it('halves the next trials, down to an eighth of the pace', () => {
    const delivery = known()
    const tried = Array.from({ length: 6 }, () => boldness(delivery))
    for (const [i, pace] of [1, 2, 4, 8, 8, 8].entries())
      expect(tried[i]).toBeCloseTo(0.02 / pace + (2 / 3 / pace) ** 2, 9)
  })

  it('says nothing if it was too short to show a rate', () => {
    const delivery = known()
    for (let i = 0; i < 6; i++) boldness(delivery, 2)
    expect(boldness(delivery)).toBe(boldness(known()))
  })

  it('counts no longer once a run has found more, or a new proof was found', () => {
    const [found, proved] = [known(), known()]
    for (const delivery of [found, proved]) for (let i = 0; i < 6; i++) boldness(delivery)
    boldness(found, 6, 1.1 * CAPACITY)
    // That run, too, ended in failures, but it had found more.
    expect(boldness(found, 6, 1.1 * CAPACITY)).toBeCloseTo(boldness(known()), 9)
    proved.shows(CAPACITY, true, CAPACITY, 1, false)
    expect(boldness(proved)).toBe(boldness(known()))
  })
})

const SECOND = 1_000
const [LIGHT, HEAVY] = [2_000, 40]
const SEEDS = byWidth([5], [1, 2, 5, 7, 8])

/** Light tenants who ask for half of the capacity, beside heavy ones who ask for twice all of it. */
function crowded(service: Partial<Service>, seed: number): Tally {
  const random = seededRandom(seed)
  const nameOf = (crowd: number) => `${crowd}-${Math.floor(random() * [LIGHT, HEAVY][crowd]!)}`
  const rates = [SECOND / 2, 2 * SECOND]
  const crowds = { ratesAt: () => rates, mostAsked: 2.5 * SECOND, nameOf, capacityAt: () => SECOND, burst: SECOND / 4 }
  return runService({ ...crowds, seconds: 40, fair: {}, ...service }, seed).tally
}

/** Part of the admitted requests that failed. */
function failedShare(tally: Tally, from: number, to: number): number {
  const [asked, refused, served] = (['asked', 'refused', 'served'] as const).map((what) =>
    tally.total(what, [0, 1], from, to),
  ) as [number, number, number]
  return 1 - served / (asked - refused)
}

describe('the capacity seen at full admission', () => {
  it.each(SEEDS)('is without what the store has served: seed %d', (seed) => {
    const tally = crowded({}, seed)
    expect(tally.share([0], 25, 40)).toBeGreaterThan(0.96)
    expect(failedShare(tally, 25, 40)).toBeLessThan(0.05)
  })

  it.each(SEEDS)('is tested if a tenth less is delivered, though nobody else would use it: seed %d', (seed) => {
    const tally = crowded({ seconds: 70, capacityAt: (second) => (second < 30 ? 1 : 0.9) * SECOND }, seed)
    expect(tally.share([0], 50, 70)).toBeGreaterThan(0.9)
    expect(failedShare(tally, 50, 70)).toBeLessThan(0.15)
  })

  it.each([
    [500, 1],
    [1_500, 3],
    [4_000, 1],
  ])('is not what is served in a pause: of %d a second, seed %d', (capacity, seed) => {
    const rates = Array.from({ length: 30 }, () => (0.7 * capacity) / 30)
    const pauses = (_: number, second: number): number => (second % 2 < 0.1 ? 1 : 0)
    const asked = { ratesAt: () => rates, mostAsked: 0.7 * capacity, capacityAt: () => capacity, burst: capacity / 4 }
    const { tally } = runService({ ...asked, failsAt: pauses, seconds: 60, fair: {} }, seed)
    expect(tally.share([...rates.keys()], 30, 60)).toBeGreaterThan(0.94)
  })
})

/** Resources that store next to nothing: at half of their capacity some requests fail by chance. */
const SMALL: [{ capacity: number; burst: number }, seed: number][] = [
  [{ capacity: 200, burst: 2 }, 3],
  [{ capacity: 200, burst: 2 }, 1],
  [{ capacity: 200, burst: 2 }, 2],
  [{ capacity: 60, burst: 1 }, 1],
  [{ capacity: 60, burst: 1 }, 3],
]

describe('failures that are usual', () => {
  it.runIf(byWidth(false, true)).each(SMALL)(
    'are not taken for a shortage in an hour of looks: %j, seed %d',
    (store, seed) => {
      const { capacity, burst } = store
      const rates = Array.from({ length: 30 }, () => capacity / 60)
      const asked = { ratesAt: () => rates, mostAsked: capacity / 2, capacityAt: () => capacity, burst, seconds: 3_600 }
      const [served, without] = ([{}, false] as const).map((fair) =>
        runService({ ...asked, fair }, seed).tally.total('served', [...rates.keys()], 0, 3_600),
      ) as [number, number]
      expect(served / without).toBeGreaterThan(0.97)
    },
  )
})
