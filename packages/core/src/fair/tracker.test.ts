import { PublishedPlacement } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { type BlueOptions, blue } from './blue.js'
import type { FairOptions } from './options.js'
import { FairTracker } from './tracker.js'

const never = (): number => 0.999999
const always = (): number => 0

function failing(tracker: FairTracker<'blue'>, flow: string, times: number): void {
  for (let i = 0; i < times; i++) tracker.report(flow, 'failure')
}

describe('FairTracker', () => {
  it('refuses nobody before anything failed, whatever is drawn', () => {
    const tracker = new FairTracker({ ...blue(), random: always })
    for (let i = 0; i < 100; i++) expect(tracker.register(`flow-${i}`)).toBe(true)
  })

  it('refuses a flow altogether after 25 failures, and lets it back with time', () => {
    const clock = manualClock()
    const tracker = new FairTracker({ ...blue({ rotateEveryMs: Number.POSITIVE_INFINITY }), clock, random: never })
    failing(tracker, 'loud', 25)
    expect(tracker.probability('loud')).toBeCloseTo(1, 12)
    expect(tracker.register('quiet')).toBe(true)
    expect(tracker.register('loud')).toBe(false)
    clock.advance(69_315) // ln 2 / 0.01 per second
    expect(tracker.probability('loud')).toBeCloseTo(0.5, 4)
  })

  it('takes a thousandth of a failure back at a success', () => {
    const tracker = new FairTracker({ ...blue(), clock: manualClock(), random: never })
    failing(tracker, 'a', 2)
    tracker.report('a', 'success')
    expect(tracker.probability('a')).toBeCloseTo(0.08 - 0.00004, 12)
  })

  it('takes an ignored request to have ended as the latest one did of which the end is known', () => {
    const tracker = new FairTracker({ ...blue(), clock: manualClock(), random: never })
    tracker.report('leaves', 'ignored')
    expect(tracker.probability('leaves')).toBe(0)
    failing(tracker, 'waits', 1)
    tracker.report('leaves', 'ignored')
    expect(tracker.probability('leaves')).toBeCloseTo(0.04, 12)
    tracker.report('waits', 'success')
    tracker.report('leaves', 'ignored')
    expect(tracker.probability('leaves')).toBeCloseTo(0.04 - 0.00004, 12)
  })

  it('draws once where something is known, and refuses if the draw is below the probability', () => {
    let draws = 0
    let next = 0.5
    const tracker = new FairTracker({
      ...blue(),
      clock: manualClock(),
      random: () => {
        draws++
        return next
      },
    })
    expect(tracker.register('a')).toBe(true)
    const seeds = draws
    expect(tracker.register('a')).toBe(true)
    expect(draws).toBe(seeds)
    failing(tracker, 'a', 10)
    next = 0.39
    expect(tracker.register('a')).toBe(false)
    next = tracker.probability('a')
    expect(tracker.register('a')).toBe(true)
    expect(draws).toBe(seeds + 2)
  })

  it('keeps the shadow as warm as the live structure', () => {
    const tracker = new FairTracker({ ...blue(), clock: manualClock(), random: seededRandom(1) })
    failing(tracker, 'a', 7)
    const { live, shadow } = tracker.explain('a')
    expect(shadow.probability).toBeCloseTo(live.probability, 12)
    expect(shadow.buckets).not.toEqual(live.buckets)
  })

  it('gives the same answer by key as by name, across a rotation', () => {
    const published = (buckets: number, random: () => number) => new PublishedPlacement(buckets, random)
    for (const placement of [{}, { placement: published }]) {
      const clock = manualClock()
      const tracker = new FairTracker({
        ...blue({ rotateEveryMs: 1000, decayPerSecond: 0, ...placement }),
        clock,
        random: seededRandom(5),
      })
      const key = tracker.key('tenant-7')
      tracker.report(key, 'failure')
      clock.advance(1000)
      tracker.report(key, 'failure')
      expect(tracker.probability('tenant-7')).toBeCloseTo(0.08, 12)
      expect(tracker.explain(key).shadow.probability).toBeCloseTo(0.04, 12)
    }
  })
})

describe('rotation', () => {
  const setup = (options: BlueOptions = {}) => {
    const clock = manualClock()
    const tracker = new FairTracker({
      ...blue({ decayPerSecond: 0, rotateEveryMs: 1000, ...options }),
      clock,
      random: seededRandom(9),
    })
    return { clock, tracker }
  }

  it('goes on with what the shadow learnt, in other buckets', () => {
    const { clock, tracker } = setup()
    failing(tracker, 'a', 5)
    const before = tracker.explain('a')
    clock.advance(1000)
    const after = tracker.explain('a')
    expect(after.live).toEqual(before.shadow)
    expect(after.shadow.probability).toBe(0)
    expect(after.shadow.buckets).not.toEqual(after.live.buckets)
  })

  it('happens on the next call however late, and keeps its phase', () => {
    const { clock, tracker } = setup()
    clock.advance(1999)
    expect(tracker.snapshot().rotations).toBe(1)
    clock.advance(1)
    expect(tracker.snapshot().rotations).toBe(2)
  })

  it.each([2, 3, 50])('forgets everything after %i missed rotations, as if they had happened', (missed) => {
    const { clock, tracker } = setup()
    failing(tracker, 'a', 5)
    clock.advance(missed * 1000)
    const { live, shadow } = tracker.explain('a')
    expect([live.probability, shadow.probability]).toEqual([0, 0])
    expect(tracker.snapshot().rotations).toBe(missed)
  })

  it('counts a clock that jumps back as no time passed', () => {
    const { clock, tracker } = setup()
    failing(tracker, 'a', 5)
    clock.advance(900)
    expect(tracker.snapshot().rotations).toBe(0)
    clock.advance(-1_000_000)
    expect(tracker.snapshot().rotations).toBe(0)
    clock.advance(99)
    expect(tracker.snapshot().rotations).toBe(0)
    clock.advance(1)
    expect(tracker.snapshot().rotations).toBe(1)
  })

  it('never happens if it is set to Infinity', () => {
    const { clock, tracker } = setup({ rotateEveryMs: Number.POSITIVE_INFINITY })
    clock.advance(1e12)
    expect(tracker.snapshot()).toMatchObject({ rotations: 0, rotateEveryMs: null })
  })
})

/** One record per flow and plain sums: a sketch without collisions must equal it. */
class ExactBlue {
  readonly #flows = new Map<string, { p: number; atMs: number }>()

  probability(flow: string, nowMs: number): number {
    const record = this.#flows.get(flow)
    return record ? record.p * Math.exp((-0.01 * (nowMs - record.atMs)) / 1000) : 0
  }

  report(flow: string, change: number, nowMs: number): void {
    const p = Math.max(0, Math.min(1, this.probability(flow, nowMs) + change))
    this.#flows.set(flow, { p, atMs: nowMs })
  }
}

describe('against an exact record per flow', () => {
  const flows = ['a', 'b', 'c', 'd', 'x'.repeat(1000), '__proto__', 'constructor', '\ud800', '日本']
  const step = fc.record({
    flow: fc.constantFrom(...flows),
    outcome: fc.constantFrom('success', 'failure', 'ignored'),
    ms: fc.integer({ min: 0, max: 5000 }),
  })

  it('agrees for any history of a few flows in many buckets', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer(), (steps, seed) => {
        const clock = manualClock()
        const options = { rotateEveryMs: 60_000, levels: 4, bucketsPerLevel: 10_000 }
        const tracker = new FairTracker({ ...blue(options), clock, random: seededRandom(seed) })
        // Flows that share a bucket are affected by each other's successes; here none does.
        fc.pre(sharesNothing(tracker, flows))
        const exact = new ExactBlue()
        let known = 'success'
        for (const { flow, outcome, ms } of steps) {
          // Under a minute in all, so that no rotation forgets what the record does not.
          clock.advance(ms / 20)
          const nowMs = clock()
          tracker.report(flow, outcome)
          if (outcome !== 'ignored') known = outcome
          exact.report(flow, known === 'failure' ? 0.04 : -0.00004, nowMs)
          expect(tracker.probability(flow)).toBeCloseTo(exact.probability(flow, nowMs), 9)
        }
      }),
      { numRuns: 200 },
    )
  })
})

/** True if no two flows have a bucket in common on any level. */
function sharesNothing(tracker: FairTracker<'blue'>, flows: readonly string[]): boolean {
  const places = flows.flatMap((flow) =>
    tracker.explain(flow).live.buckets.map((bucket, level) => `${level}:${bucket}`),
  )
  return new Set(places).size === places.length
}

describe('flows', () => {
  it('may be enormous or hostile', () => {
    const tracker = new FairTracker({ ...blue(), clock: manualClock(), random: seededRandom(3) })
    const flows = ['x'.repeat(1 << 20), '__proto__', 'hasOwnProperty', '\0', '\ud800']
    for (const flow of flows) {
      expect(tracker.register(flow)).toBe(true)
      failing(tracker, flow, 25)
      expect(tracker.register(flow)).toBe(false)
      expect(tracker.register('innocent')).toBe(true)
    }
  })

  it.each(['', undefined, null, 7])('must be a non-empty string: %s', (flow) => {
    const tracker = new FairTracker(blue())
    expect(() => tracker.key(flow as string)).toThrow('flow must be a non-empty string')
  })

  it('need an outcome that is one of three words', () => {
    const tracker = new FairTracker(blue())
    expect(() => tracker.report('a', 'failed' as 'failure')).toThrow(
      'outcome must be one of "success", "failure", "ignored", got "failed"',
    )
  })
})

describe('options', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ levels: 0 }, 'fair.levels must be an integer >= 1, got 0'],
    [{ levels: 2.5 }, 'fair.levels must be an integer >= 1, got 2.5'],
    [{ levels: '3' }, 'fair.levels must be an integer >= 1, got "3"'],
    [{ bucketsPerLevel: Number.NaN }, 'fair.bucketsPerLevel must be an integer >= 1, got NaN'],
    [
      { levels: 1e6, bucketsPerLevel: 1e6 },
      'fair.levels × fair.bucketsPerLevel must be a number from 1 to 134217728, got 1000000000000',
    ],
    [{ failureIncrement: 0 }, 'fair.failureIncrement must be a number > 0 and <= 1, got 0'],
    [{ failureIncrement: 1 }, 'fair.failureIncrement must be below 1, got 1'],
    [{ failureIncrement: -0.5 }, 'fair.failureIncrement must be a number > 0 and <= 1, got -0.5'],
    [{ successDecrement: 0.5 }, 'fair.successDecrement must be below fair.failureIncrement (0.04), got 0.5'],
    [{ successDecrement: 0 }, 'fair.successDecrement must be a number > 0 and <= 1, got 0'],
    [{ decayPerSecond: -1 }, 'fair.decayPerSecond must be a number >= 0, got -1'],
    [{ decayPerSecond: Number.POSITIVE_INFINITY }, 'fair.decayPerSecond must be a number >= 0, got Infinity'],
    [{ rotateEveryMs: 0 }, 'fair.rotateEveryMs must be a number > 0, got 0'],
    [{ combine: 'max' }, 'fair.combine must be one of "min", "mean", got "max"'],
    [{ placement: 'md5' }, 'fair.placement must be a function, got "md5"'],
    [{ buckets: 10 }, 'fair has no option "buckets"'],
  ])('%j are refused by name', (options, message) => {
    expect(() => blue(options)).toThrow(message)
  })

  it('of the tracker are refused by name, too', () => {
    expect(() => new FairTracker({ ...blue(), clock: 5 as never })).toThrow('fair.clock must be a function, got 5')
  })

  it('must be an object', () => {
    expect(() => new FairTracker(3 as FairOptions)).toThrow('fair must be an object, got 3')
  })
})
