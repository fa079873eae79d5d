import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { Relief } from './probe.js'
import { Reservation } from './reservation.js'

/** Admits and finishes these numbers of requests, then samples; returns the requests in flight. */
function interval(
  reservation: Reservation,
  admitted: number,
  finished: number,
  reading: number,
  inFlight: number,
): number {
  for (let i = 0; i < admitted; i++) reservation.admit()
  for (let i = 0; i < finished; i++) reservation.finish()
  reservation.sample(reading, inFlight + admitted - finished)
  return inFlight + admitted - finished
}

/** A reservation that has seen `samples` intervals of requests of exactly `size`, with 100 in flight at the end. */
function learned(size: number, samples = 50): Reservation {
  const random = seededRandom(7)
  const reservation = new Reservation(1)
  let inFlight = 100
  reservation.sample(size * inFlight, inFlight)
  for (let i = 0; i < samples; i++) {
    const admitted = 5 + Math.floor(random() * 20)
    const finished = Math.min(inFlight, Math.floor(random() * 30))
    inFlight = interval(reservation, admitted, finished, size * (inFlight + admitted - finished), inFlight)
  }
  reservation.sample(size * 100, 100)
  return reservation
}

describe('Reservation', () => {
  it('learns what a request takes and gives back', () => {
    const { growth, release, samples, variance } = learned(0.002)
    expect(growth).toBeCloseTo(0.002, 5)
    expect(release).toBeCloseTo(0.002, 5)
    expect(samples).toBe(50)
    expect(Math.sqrt(variance)).toBeLessThan(0.0002)
  })

  it('reserves what was admitted since the sample, net of what finished when sizes are even', () => {
    const reservation = learned(0.002)
    expect(reservation.reserved(100)).toBe(0)
    for (let i = 0; i < 50; i++) reservation.admit()
    expect(reservation.reserved(150)).toBeCloseTo(0.1, 2)
    for (let i = 0; i < 25; i++) reservation.finish()
    expect(reservation.reserved(125)).toBeCloseTo(0.05, 2)
  })

  it('reserves all that was admitted when sizes have a heavy tail', () => {
    const random = seededRandom(3)
    const reservation = new Reservation(1)
    let reading = 0.3
    reservation.sample(reading, 100)
    for (let i = 0; i < 50; i++) {
      // As many admissions as finishes, of widely different sizes.
      reading = Math.max(0, reading + 0.1 * (random() - 0.5) + 0.01)
      interval(reservation, 10, 5, reading, 100)
    }
    for (let i = 0; i < 10; i++) reservation.admit()
    for (let i = 0; i < 10; i++) reservation.finish()
    expect(reservation.growth).toBeGreaterThan(0)
    expect(reservation.reserved(100)).toBeCloseTo(10 * Math.max(reservation.growth, reservation.rise), 12)
  })

  it('learns nothing from what a collection took that it is told of, and then reserves whatever has ended', () => {
    const reservation = new Reservation(1)
    let reading = 0.1
    reservation.sample(reading, 0)
    for (let i = 0; i < 30; i++) {
      reading += 10 * 0.005
      interval(reservation, 10, 10, reading, 10)
      if (i % 5 !== 4) continue
      reading = 0.15
      reservation.collected(reading, 10, 0)
    }
    for (let i = 0; i < 4; i++) reservation.admit()
    for (let i = 0; i < 4; i++) reservation.finish()
    // Four requests of 0.005 each, and two more as a margin for varying sizes.
    const reserved = reservation.reserved(10)
    expect(reserved).toBeGreaterThan(0.98 * 0.005 * (4 + 2))
    expect(reserved).toBeLessThanOrEqual(0.005 * (4 + 2))
    reservation.collected(0.15, 10, 0.02)
    for (let i = 0; i < 4; i++) reservation.admit()
    expect(reservation.reserved(14)).toBeCloseTo(0.02 * (4 + 2), 9)
  })

  it('counts what has ended as room, up to what can be used again, where readings do not fall', () => {
    const reservation = new Reservation(1)
    for (let i = 0; i <= 20; i++) interval(reservation, 10, 0, 0.02 * i, 10 * i)
    // Half of them end without a change of the reading; then as many are admitted as finish.
    for (let i = 0; i < 10; i++) interval(reservation, 0, 10, 0.4, 200 - 10 * i)
    for (let i = 0; i < 100; i++) interval(reservation, 10, 10, 0.4, 100)
    const { rise } = reservation
    expect(rise).toBeGreaterThan(0.0014)
    expect(rise).toBeLessThanOrEqual(0.002)
    for (let i = 0; i < 20; i++) reservation.admit()
    expect(reservation.reserved(120, 1)).toBeCloseTo(20 * rise, 9)
    for (let i = 0; i < 20; i++) reservation.finish()
    // The discounted part of a reading may be held after all, so at most that much is returned by finishes.
    const [none, some, full] = [0, 0.032, 1].map((reusable) => reservation.reserved(100, reusable))
    expect(none! - some!).toBeGreaterThan(0.004)
    expect(full!).toBeLessThan(some!)
  })

  it('learns the size of requests that come one at a time between collections', () => {
    const reservation = new Reservation(1)
    for (let i = 0; i < 30; i++) {
      interval(reservation, 1, 1, 0.22, 5)
      reservation.collected(0.2, 5, 0)
    }
    expect(reservation.samples).toBe(0)
    const { rise } = reservation
    expect(rise).toBeGreaterThan(0.98 * 0.02)
    expect(rise).toBeLessThanOrEqual(0.02)
    for (let i = 0; i < 9; i++) reservation.admit()
    expect(reservation.reserved(14)).toBeCloseTo(rise * (9 + 3), 9)
  })

  it('forgets, while memory stands still, what something else in the process took as requests came', () => {
    const reservation = new Reservation(1)
    reservation.sample(0.2, 2)
    for (let i = 1; i <= 3; i++) interval(reservation, 2, 2, 0.2 + 0.2 * i, 2)
    expect(reservation.rise).toBeGreaterThan(0.09)
    // Each tenth of a second two requests come and go, and memory stands still.
    for (let i = 0; i < 200; i++) interval(reservation, 2, 2, 0.8, 2)
    expect(reservation.size).toBeLessThan(0.04)
    for (let i = 0; i < 200; i++) interval(reservation, 2, 2, 0.8, 2)
    expect(reservation.size).toBeLessThan(0.005)
  })

  it('learns from few requests together with those that come, and from none nothing', () => {
    const reservation = new Reservation(1)
    reservation.sample(0.1, 0)
    for (let i = 1; i <= 20; i++) interval(reservation, 1, 0, 0.1 + i * 0.02, i - 1)
    expect(reservation.samples).toBe(4)
    expect(reservation.growth).toBeGreaterThan(0.015)
    const { growth, samples } = reservation
    for (let i = 0; i < 100; i++) interval(reservation, 0, 0, 0.9 - i * 0.001, 20)
    expect(reservation).toMatchObject({ growth, samples })
  })

  it('reserves what rises showed for a rush, where collections and memory used again undid them', () => {
    const reservation = new Reservation(1)
    reservation.sample(0.3, 5)
    // Each request adds 0.02 and leaves it as garbage, which every fourth sample shows collected.
    for (let i = 1; i <= 40; i++) interval(reservation, 5, 5, 0.3 + 0.1 * (i % 4), 5)
    // Then admissions fit into the freed memory.
    for (let i = 0; i < 40; i++) interval(reservation, 5, 5, 0.6, 5)
    expect(reservation.growth).toBeLessThan(0.01)
    for (let i = 0; i < 10; i++) reservation.admit()
    expect(reservation.reserved(15)).toBeGreaterThan(0.15)
  })

  it('learns nothing from a collection', () => {
    const reservation = learned(0.002)
    interval(reservation, 5, 5, 0.2, 100)
    const { growth, release, variance } = reservation
    interval(reservation, 10, 0, 0.05, 100)
    expect(reservation).toMatchObject({ growth, release, variance })
  })

  it('learns from an ordinary fall', () => {
    const reservation = learned(0.002)
    interval(reservation, 5, 10, 0.2 - 0.01, 100)
    expect(reservation.samples).toBe(51)
  })

  it('works the same in any unit', () => {
    const share = learned(0.002)
    const bytes = new Reservation(1e9)
    const shares = new Reservation(1)
    for (const [admitted, finished, reading] of [
      [20, 5, 0.33],
      [10, 10, 0.34],
      [30, 0, 0.4],
      [8, 40, 0.3],
      [9, 3, 0.01],
    ] as const) {
      interval(bytes, admitted, finished, reading * 1e9, 40)
      interval(shares, admitted, finished, reading, 40)
    }
    expect(bytes.growth / 1e9).toBeCloseTo(shares.growth, 12)
    expect(bytes.variance / 1e18).toBeCloseTo(shares.variance, 12)
    expect(share.growth).toBeGreaterThan(0)
  })

  it('keeps what it knew while finishes equal admissions, which tells the two apart no more', () => {
    const reservation = new Reservation(1)
    reservation.sample(0.5, 10)
    for (let i = 0; i < 10; i++) interval(reservation, 10, 10, 0.5, 10)
    expect(reservation).toMatchObject({ growth: 0, release: 0, samples: 10 })
  })

  it('takes back an admission that never ran, without a finish', () => {
    const reservation = learned(0.002)
    for (let i = 0; i < 10; i++) reservation.admit()
    for (let i = 0; i < 10; i++) reservation.undo()
    reservation.undo()
    expect(reservation.admitted).toBe(0)
    expect(reservation.reserved(100)).toBe(0)
  })

  it('never reserves less than 0 nor more than all admissions', () => {
    // Squares of smaller numbers underflow to 0, and no meter reports such numbers.
    const readings = fc.double({ min: 0, max: 10, noNaN: true }).map((reading) => (reading < 1e-12 ? 0 : reading))
    const events = fc.array(
      fc.oneof(
        fc.constantFrom('admit', 'finish', 'undo' as const),
        fc.record({ reading: readings, inFlight: fc.nat(1_000) }),
      ),
      { maxLength: 400 },
    )
    fc.assert(
      fc.property(events, fc.nat(1_000), (list, inFlight) => {
        const reservation = new Reservation(1)
        for (const event of list) {
          if (typeof event === 'object') reservation.sample(event.reading, event.inFlight)
          else reservation[event]()
          expect(reservation.release).toBeGreaterThanOrEqual(0)
          expect(reservation.growth).toBeGreaterThanOrEqual(reservation.release)
          expect(reservation.variance).toBeGreaterThanOrEqual(0)
          expect(reservation.reserved(inFlight)).toBeGreaterThanOrEqual(0)
          const most = Math.max(reservation.growth, reservation.rise) * reservation.admitted
          expect(reservation.reserved(inFlight)).toBeLessThanOrEqual(most)
        }
      }),
    )
  })
})

describe('Relief', () => {
  const range = { from: 0.75 }

  it('takes off most of what running requests do not hold within 20 s', () => {
    const relief = new Relief()
    for (let i = 0; i <= 200; i++) relief.sample(0.95, 0, 100, range)
    expect(relief.amount).toBeGreaterThan(0.8 * 0.2)
    expect(relief.amount).toBeLessThanOrEqual(0.2)
  })

  it('takes nothing off what they do hold', () => {
    const relief = new Relief()
    for (let i = 0; i <= 1_000; i++) relief.sample(0.95, 0.3, 100, range)
    expect(relief.amount).toBe(0)
    for (let i = 0; i <= 1_000; i++) relief.sample(0.95, 0.15, 100, range)
    expect(relief.amount).toBeLessThanOrEqual(0.05 + 1e-12)
  })

  it.each([1e-6, 1e-4, 1e-2])('heeds no jitter: readings that move by %d of the limit', (jitter) => {
    const relief = new Relief()
    for (let i = 0; i <= 300; i++) relief.sample(0.9 + jitter * Math.sin(i * i), 0, 100, range)
    expect(relief.amount).toBeGreaterThan(0.1)
  })

  it('goes four times as fast as memory rises above what it was', () => {
    const relief = new Relief()
    for (let i = 0; i <= 1_000; i++) relief.sample(0.9, 0, 100, range)
    const before = relief.amount
    relief.sample(0.92, 0, 100, range)
    expect(relief.amount).toBeCloseTo(before - 4 * 0.02, 9)
  })

  it('never takes the load below the range, and begins anew once memory has fallen out of it', () => {
    const relief = new Relief()
    for (let i = 0; i <= 1_000; i++) relief.sample(0.9, 0, 100, range)
    relief.sample(0.76, 0, 100, range)
    expect(relief.amount).toBeCloseTo(0.01, 9)
    relief.sample(0.5, 0, 100, range)
    expect(relief.amount).toBe(0)
    relief.sample(0.9, 0, 100, range)
    expect(relief.amount).toBe(0)
  })

  it('counts a silence for five seconds at most: what is left after it was held by no request', () => {
    const relief = new Relief()
    relief.sample(0.9, 0, 100, range)
    relief.sample(0.9, 0, 5_000, range)
    expect(relief.amount).toBeCloseTo(0.15 / 2, 9)
    relief.sample(0.9, 0, 3_600_000, range)
    expect(relief.amount).toBeCloseTo((0.15 * 3) / 4, 9)
  })
})
