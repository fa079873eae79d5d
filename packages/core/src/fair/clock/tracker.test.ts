import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { FairTracker } from '../tracker.js'

const trackerOf = (
  options: { bucketsPerLevel?: number; rotateEveryMs?: number; weightOf?: (flow: string) => number } = {},
) => {
  const clock = manualClock()
  return { clock, tracker: new FairTracker({ rule: 'fair-clock', clock, random: seededRandom(1), ...options }) }
}
type Tracker = ReturnType<typeof trackerOf>['tracker']

/** Brings about a shortage, by flows that nobody else has to do with. */
function engage(tracker: Tracker): void {
  for (let i = 0; i < 20; i++) {
    tracker.register(`other-${i}`)
    tracker.report(`other-${i}`, i < 10 ? 'success' : 'failure')
  }
  expect(tracker.snapshot().engaged).toBe(true)
}

/** Registers until it is refused; how often it was let in. */
function drain(tracker: Tracker, flow: string, cost = 1): number {
  let admitted = 0
  while (tracker.register(flow, undefined, cost)) {
    tracker.report(flow, 'success', undefined, cost)
    if (++admitted > 1_000) throw new Error(`${flow} is never refused`)
  }
  return admitted
}

describe('the fair clock of a tracker', () => {
  it('refuses nobody while there is enough, however loud', () => {
    const { tracker } = trackerOf()
    for (let i = 0; i < 1_000; i++) {
      expect(tracker.register('loud')).toBe(true)
      tracker.report('loud', 'success')
    }
    expect(tracker.explain('loud')).toMatchObject({ engaged: false, capacityPerSecond: null })
  })

  it('in a shortage refuses who is ahead of the clock, and nobody else', () => {
    const { tracker } = trackerOf()
    engage(tracker)
    expect(drain(tracker, 'loud')).toBeGreaterThan(0)
    expect(tracker.probability('loud')).toBe(1)
    expect(tracker.probability('quiet')).toBe(0)
    const { credit, engaged, waitMs } = tracker.explain('loud')
    expect(engaged).toBe(true)
    expect(credit).toBeLessThan(0)
    expect(waitMs).toBeGreaterThan(0)
    expect(tracker.explain('quiet').credit).toBeGreaterThan(0)
  })

  it('charges nobody for a refusal', () => {
    const { tracker } = trackerOf()
    engage(tracker)
    drain(tracker, 'loud')
    const before = tracker.explain('loud')
    for (let i = 0; i < 100; i++) expect(tracker.register('loud')).toBe(false)
    expect(tracker.explain('loud')).toEqual(before)
  })

  it('gives back what a request was charged that never ran, and not what one was that failed', () => {
    const credits = (['withdrawn', 'failure'] as const).map((end) => {
      const { tracker } = trackerOf()
      tracker.register('a')
      engage(tracker)
      const before = tracker.explain('a').credit
      const key = tracker.key('a')
      expect(tracker.register(key)).toBe(true)
      if (end === 'failure') tracker.report(key, 'failure')
      else tracker.withdraw(key)
      return { before, after: tracker.explain('a').credit }
    })
    expect(credits[0]!.after).toBe(credits[0]!.before)
    expect(credits[1]!.after).toBe(credits[1]!.before - 1)
  })

  it('keeps the charge of what ended with nothing to say about shortage', () => {
    const { tracker } = trackerOf()
    engage(tracker)
    const key = tracker.key('a')
    tracker.register(key)
    const { credit } = tracker.explain('a')
    tracker.report(key, 'ignored')
    expect(tracker.explain('a').credit).toBe(credit)
  })

  it('settles what a request really cost', () => {
    const costs = [0, 1, 5]
    const credits = costs.map((cost) => {
      const { tracker } = trackerOf()
      engage(tracker)
      const key = tracker.key('a')
      tracker.register(key)
      tracker.report(key, 'success', undefined, cost)
      return tracker.explain('a').credit
    })
    expect(credits[0]! - credits[1]!).toBeCloseTo(1, 6)
    expect(credits[1]! - credits[2]!).toBeCloseTo(4, 6)
  })

  it('lets who has more weight be ahead of others by as much', () => {
    const { tracker } = trackerOf({ weightOf: (flow) => (flow === 'heavy' ? 3 : 1) })
    for (const flow of ['heavy', 'light']) tracker.register(flow)
    engage(tracker)
    expect(drain(tracker, 'heavy') / drain(tracker, 'light')).toBeCloseTo(3, 0)
    expect(tracker.explain('heavy').weight).toBe(3)
  })

  it('keeps no more than a dozen requests of credit for anybody, however long they were away', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), fc.integer(), (awayMs, seed) => {
        const clock = manualClock()
        const tracker = new FairTracker({ rule: 'fair-clock', clock, random: seededRandom(seed) })
        engage(tracker)
        clock.advance(awayMs)
        expect(tracker.explain('a').credit).toBeLessThanOrEqual(12)
      }),
    )
  })

  it('lets newcomers in a shortage draw on what is set aside for all of them, and no further', () => {
    const { clock, tracker } = trackerOf()
    engage(tracker)
    let admitted = 0
    for (let i = 0; i < 1_000; i++) if (tracker.register(`invented-${i}`)) admitted++
    expect(admitted).toBeGreaterThan(0)
    expect(admitted).toBeLessThanOrEqual(Math.max(12, tracker.snapshot().capacityPerSecond! / 2))
    expect(tracker.explain('never-seen')).toMatchObject({ newcomer: true, engaged: true })
    clock.advance(1_000)
    expect(tracker.register('one-more')).toBe(true)
  })

  it('takes a flow for new again that has not been charged for a minute, or less where the clock runs fast', () => {
    const { clock, tracker } = trackerOf({ rotateEveryMs: Number.POSITIVE_INFINITY })
    engage(tracker)
    drain(tracker, 'a')
    let tenths = 0
    for (; !tracker.explain('a').newcomer; tenths++) {
      clock.advance(100)
      drain(tracker, 'b')
    }
    expect(tenths).toBeGreaterThanOrEqual(600 / 4)
    expect(tenths).toBeLessThanOrEqual(600)
  })

  it('forgets sooner who was charged, where more newcomers come than there are cells to tell them apart', () => {
    const forgotten = (bucketsPerLevel: number): boolean => {
      const { clock, tracker } = trackerOf({ bucketsPerLevel, rotateEveryMs: Number.POSITIVE_INFINITY })
      engage(tracker)
      drain(tracker, 'a')
      for (let i = 0; i < 500; i++) {
        clock.advance(10)
        drain(tracker, `new-${i}`)
      }
      return tracker.explain('a').newcomer
    }
    expect(forgotten(4096)).toBe(false)
    expect(forgotten(256)).toBe(true)
  })

  it('knows debts across a rotation, in other cells, and forgets them when several were missed', () => {
    const { clock, tracker } = trackerOf({ rotateEveryMs: 1_000 })
    engage(tracker)
    clock.advance(999)
    drain(tracker, 'loud')
    clock.advance(1)
    expect(tracker.register('loud')).toBe(false)
    expect(tracker.snapshot()).toMatchObject({ rotations: 1 })
    clock.advance(3_000)
    expect(tracker.explain('loud').credit).toBe(tracker.explain('never-seen').credit)
  })

  it('goes on from wherever a clock jumps to, when the time is handed in', () => {
    const { tracker } = trackerOf()
    tracker.register('a')
    tracker.report('a', 'success')
    engage(tracker)
    const { credit } = tracker.explain('a', 1_000)
    expect(tracker.explain('a', -1_000_000).credit).toBe(credit)
    expect(tracker.explain('a', -999_000).credit).toBeGreaterThan(credit)
  })

  it('shows the loudest, and nothing but their names', () => {
    const { tracker } = trackerOf()
    for (let i = 0; i < 90; i++) tracker.register('loud')
    for (let i = 0; i < 10; i++) tracker.register(`quiet-${i}`)
    const { talkers } = tracker.snapshot()
    expect(talkers[0]).toEqual({ flow: 'loud', askedShare: 0.9, refusedShare: 0 })
    expect(talkers.length).toBeLessThanOrEqual(16)
    expect(JSON.parse(JSON.stringify(tracker.snapshot()))).toEqual(tracker.snapshot())
  })
})

describe('options of the fair clock', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ rule: 'red' }, 'fair.rule must be one of "fair-clock", "blue", got "red"'],
    [{ rule: 'fair-clock', failureIncrement: 0.1 }, 'fair has no option "failureIncrement"'],
    [{ rule: 'fair-clock', hash: 'published' }, 'fair has no option "hash"'],
    [{ rule: 'blue', credit: 12 }, 'fair has no option "credit"'],
    [{ rule: 'blue', weightOf: () => 1 }, 'fair has no option "weightOf"'],
    [{ rule: 'fair-clock', levels: 0 }, 'fair.levels must be an integer >= 1, got 0'],
    [{ rule: 'fair-clock', credit: 0.5 }, 'fair.credit must be a number >= 1, got 0.5'],
    [{ rule: 'fair-clock', probe: 2 }, 'fair.probe must be a number from 0 to 1, got 2'],
    [{ rule: 'fair-clock', weightOf: 3 }, 'fair.weightOf must be a function, got 3'],
  ])('%j are refused by name', (options, message) => {
    expect(() => new FairTracker(options)).toThrow(message)
  })

  it('that are functions are held to what they promise', () => {
    const { tracker } = trackerOf({ weightOf: () => 0 })
    expect(() => tracker.register('a')).toThrow('weightOf("a") must be a number from')
    expect(tracker.snapshot()).toMatchObject({ registered: 0 })
  })

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1'])('a cost of %j is refused', (cost) => {
    const { tracker } = trackerOf()
    // As from JavaScript.
    expect(() => tracker.register('a', 0, cost as number)).toThrow('cost must be a number')
    if (cost !== 0) expect(() => tracker.report('a', 'success', 0, cost as number)).toThrow('cost must be a number')
  })
})
