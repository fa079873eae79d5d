import { describe, expect, it } from 'vitest'
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
    proved.shows(CAPACITY, true, CAPACITY, 100, false)
    expect(boldness(proved)).toBe(boldness(known()))
  })
})
