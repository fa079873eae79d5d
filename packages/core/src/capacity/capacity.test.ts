import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { outcomes } from '../admission/outcome.js'
import { adaptive } from './adaptive-capacity.js'
import type { Capacity } from './capacity.js'
import { fixed } from './fixed.js'
import { pausable } from './pausable-capacity.js'

const kinds: readonly (readonly [string, (limit: number) => Capacity])[] = [
  ['fixed', fixed],
  ['adaptive', (limit) => adaptive({ initial: limit, max: limit })],
  ['pausable', (limit) => pausable(fixed(limit))],
]

/** A minimal queue of widths: first come, first served. */
class Room {
  readonly waiting: number[] = []
  readonly running: number[] = []
  told = 0
  readonly #capacity: Capacity

  constructor(capacity: Capacity) {
    this.#capacity = capacity
    capacity.onAvailable(() => {
      this.told++
      this.drain()
    })
  }

  arrive(width: number): void {
    this.waiting.push(width)
    if (this.waiting.length === 1) this.drain()
  }

  drain(): void {
    while (this.waiting.length > 0 && this.#capacity.tryTake(this.waiting[0]!, 0))
      this.running.push(this.waiting.shift()!)
  }

  end(index: number): void {
    const [width] = this.running.splice(index, 1)
    this.#capacity.release(width!, 'success', 10, 0)
  }
}

describe.each(kinds)('the contract of a capacity, %s', (_, make) => {
  it('lets in as much as there is room for', () => {
    const capacity = make(3)
    expect(capacity.limit).toBe(3)
    expect(capacity.maximum).toBe(3)
    expect(capacity.tryTake(2, 0)).toBe(true)
    expect(capacity.tryTake(2, 0)).toBe(false)
    expect(capacity.tryTake(1, 0)).toBe(true)
    expect(capacity.tryTake(1, 0)).toBe(false)
    expect(capacity.inFlight).toBe(3)
    capacity.release(2, 'success', 5, 5)
    expect(capacity.inFlight).toBe(1)
    capacity.undo(1, 6)
    expect(capacity.inFlight).toBe(0)
  })

  it('never lets in what is wider than it can ever be, and calls nobody for it', () => {
    const capacity = make(3)
    let told = 0
    capacity.onAvailable(() => told++)
    expect(capacity.tryTake(3.5, 0)).toBe(false)
    expect(capacity.tryTake(1, 0)).toBe(true)
    expect(capacity.tryTake(4, 0)).toBe(false)
    capacity.release(1, 'success', 1, 1)
    expect(told).toBe(0)
  })

  it('takes fractions of a slot, without rounding that adds up', () => {
    const capacity = make(1)
    for (let round = 0; round < 1_000; round++) {
      for (let i = 0; i < 10; i++) expect(capacity.tryTake(0.1, 0)).toBe(true)
      expect(capacity.tryTake(0.1, 0)).toBe(false)
      for (let i = 0; i < 10; i++) capacity.release(0.1, 'success', 1, 0)
      expect(capacity.inFlight).toBe(0)
    }
  })

  it('takes large and small fractions together, and gives back each', () => {
    const capacity = make(1e9)
    for (let round = 0; round < 100; round++) {
      const widths = [478_662_300.1 + round, 0.7, 0.1 * round + 0.3]
      for (const width of widths) expect(capacity.tryTake(width, 0)).toBe(true)
      for (const width of widths) capacity.release(width, 'success', 1, 0)
      expect(capacity.inFlight).toBe(0)
    }
  })

  it('refuses to take back more than is in flight, and keeps that', () => {
    const capacity = make(10)
    expect(capacity.tryTake(3, 0)).toBe(true)
    expect(() => capacity.release(4, 'success', 1, 0)).toThrow('of the 3 slots in flight, got 4')
    expect(capacity.inFlight).toBe(3)
  })

  it.each(['release', 'undo'])('does nothing at a %s too many with nothing in flight', (end) => {
    const capacity = make(3)
    if (end === 'release') capacity.release(1, 'success', 1, 0)
    else capacity.undo(5, 0)
    expect(capacity.inFlight).toBe(0)
    expect(capacity.tryTake(3, 0)).toBe(true)
    expect(capacity.tryTake(3, 0)).toBe(false)
    expect(capacity.tryTake(1, 0)).toBe(false)
  })

  it('tells only those who were turned away, once', () => {
    const capacity = make(1)
    let told = 0
    const stop = capacity.onAvailable(() => told++)
    capacity.tryTake(1, 0)
    capacity.release(1, 'success', 1, 0)
    expect(told).toBe(0)
    capacity.tryTake(1, 0)
    capacity.tryTake(1, 0)
    expect(told).toBe(0)
    capacity.undo(1, 0)
    expect(told).toBe(1)
    capacity.tryTake(1, 0)
    capacity.release(1, 'success', 1, 0)
    expect(told).toBe(1)
    capacity.tryTake(1, 0)
    capacity.tryTake(1, 0)
    stop()
    capacity.release(1, 'success', 1, 0)
    expect(told).toBe(1)
  })

  it('gives several rooms their turns', () => {
    const capacity = make(1)
    const rooms = [new Room(capacity), new Room(capacity), new Room(capacity)]
    const started = [0, 0, 0]
    for (const room of rooms) for (let i = 0; i < 100; i++) room.arrive(1)
    for (let i = 0; i < 90; i++) {
      const index = rooms.findIndex((room) => room.running.length > 0)
      started[index]!++
      rooms[index]!.end(0)
    }
    expect(started).toEqual([30, 30, 30])
  })

  it('may be called by a listener in any way, however often', () => {
    const capacity = make(2)
    let left = 100_000
    let deep = 0
    let deepest = 0
    capacity.onAvailable(() => {
      deepest = Math.max(deepest, ++deep)
      if (left-- > 0 && capacity.tryTake(1, 0) && !capacity.tryTake(2, 0)) capacity.release(1, 'success', 1, 0)
      deep--
    })
    capacity.tryTake(2, 0)
    capacity.tryTake(1, 0)
    capacity.release(2, 'success', 1, 0)
    expect(left).toBe(-1)
    expect(deepest).toBe(1)
    expect(capacity.inFlight).toBe(0)
  })

  it('tells again after a listener that threw', () => {
    const capacity = make(2)
    let told = 0
    capacity.onAvailable(() => {
      if (told++ === 0) throw new Error('broken')
    })
    capacity.tryTake(1, 0)
    capacity.tryTake(1, 0)
    capacity.tryTake(1, 0)
    expect(() => capacity.release(1, 'success', 1, 0)).toThrow('broken')
    expect(capacity.inFlight).toBe(1)
    capacity.release(1, 'success', 1, 0)
    expect(told).toBe(2)
    expect(capacity.inFlight).toBe(0)
  })

  it('misses no wake-up and wakes nobody for nothing, whatever happens', () => {
    const step = fc.oneof(
      fc.record({ arrive: fc.constantFrom(0.5, 1, 2, 5), room: fc.nat(1) }),
      fc.record({ end: fc.nat(), room: fc.nat(1) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 5, max: 9 }), (steps, limit) => {
        const capacity = make(limit)
        const rooms = [new Room(capacity), new Room(capacity)]
        let ends = 0
        for (const step of steps) {
          const room = rooms[step.room]!
          if ('arrive' in step) room.arrive(step.arrive)
          else if (room.running.length > 0) {
            room.end(step.end % room.running.length)
            ends++
          }
          const taken = rooms.flatMap(({ running }) => running).reduce((sum, width) => sum + width, 0)
          expect(capacity.inFlight).toBeCloseTo(taken, 9)
          expect(capacity.inFlight).toBeLessThanOrEqual(capacity.limit)
          for (const { waiting } of rooms)
            if (waiting.length > 0) expect(taken + waiting[0]!).toBeGreaterThan(capacity.limit)
        }
        for (const { told } of rooms) expect(told).toBeLessThanOrEqual(ends)
        while (capacity.inFlight > 0) for (const room of rooms) if (room.running.length > 0) room.end(0)
        expect(rooms.flatMap(({ waiting }) => waiting)).toEqual([])
        expect(capacity.inFlight).toBe(0)
      }),
    )
  })

  it('has a snapshot that is plain JSON', () => {
    const capacity = make(7)
    capacity.tryTake(2, 0)
    const snapshot = capacity.snapshot()
    expect(snapshot).toMatchObject({ limit: 7, inFlight: 2 })
    expect(JSON.parse(JSON.stringify(snapshot))).toMatchObject({ limit: 7, inFlight: 2 })
  })
})

describe.each(kinds)('a width that was not taken, %s', (_, make) => {
  it.each([Number.NaN, -3, 0, 1e9, '1', undefined])('gives nothing back: %s', (width) => {
    const capacity = make(4)
    capacity.tryTake(1, 0)
    expect(() => capacity.release(width as number, 'success', 1, 0)).toThrow(/^width must be/)
    expect(() => capacity.undo(width as number, 0)).toThrow(/^width must be/)
    expect(capacity.inFlight).toBe(1)
  })

  it('is not one of a sum of fractions', () => {
    const capacity = make(1)
    for (let i = 0; i < 9; i++) expect(capacity.tryTake(0.1, 0)).toBe(true)
    for (let i = 0; i < 9; i++) capacity.release(0.1, 'success', 1, 0)
    expect(capacity.inFlight).toBe(0)
  })
})

describe('fixed', () => {
  it('is as large as it is told', () => {
    expect(fixed(12).snapshot()).toEqual({ kind: 'fixed', limit: 12, inFlight: 0 })
  })

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses %d', (limit) => {
    expect(() => fixed(limit)).toThrow(RangeError)
    expect(() => fixed(limit)).toThrow('limit')
  })

  it('never changes, however requests end', () => {
    const capacity = fixed(2)
    for (const outcome of outcomes) {
      capacity.tryTake(1, 0)
      capacity.release(1, outcome, 1e6, 1e6)
    }
    expect(capacity.limit).toBe(2)
  })
})
