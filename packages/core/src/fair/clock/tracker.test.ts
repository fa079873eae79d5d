import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { blue } from '../blue.js'
import { FlowKey, IndependentPlacement } from '../placement.js'
import { FairTracker } from '../tracker.js'
import { KnownFlows } from './flows.js'

const trackerOf = (
  options: { bucketsPerLevel?: number; rotateEveryMs?: number; weightOf?: (flow: string) => number } = {},
) => {
  const clock = manualClock()
  return { clock, tracker: new FairTracker({ rule: 'fair-clock', clock, random: seededRandom(1), ...options }) }
}
type Tracker = ReturnType<typeof trackerOf>['tracker']
type ManualClock = ReturnType<typeof manualClock>

it('a tracker takes 640 KiB, whatever the number of flows', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kibibytes = (): number => {
    collect()
    collect() // what the first one found is freed by another thread, which the second waits for
    return process.memoryUsage().arrayBuffers / 1_024
  }
  const before = kibibytes()
  const trackers = Array.from({ length: 8 }, () => new FairTracker())
  const heldAfter = (flows: number): number => {
    for (const tracker of trackers)
      for (let i = 0; i < flows; i++) {
        tracker.register(`flow-${i}`)
        tracker.report(`flow-${i}`, 'success')
      }
    return (kibibytes() - before) / trackers.length
  }
  const first = heldAfter(1)
  // The tables of a tracker, and a few of its clock.
  expect(first).toBeGreaterThan(640)
  expect(first).toBeLessThan(650)
  expect(heldAfter(2_000)).toBeCloseTo(first, 0)
})

it('a cost of any size is answered', () => {
  const { clock, tracker } = trackerOf()
  for (const cost of [1, Number.MAX_VALUE, Number.MAX_VALUE, 1, Number.MIN_VALUE, 1]) {
    expect(tracker.register('a', undefined, cost)).toBe(true)
    tracker.report('a', 'success', undefined, cost)
    clock.advance(1)
  }
})

it('time passes, however close to each other requests are', () => {
  const { clock, tracker } = trackerOf()
  const ask = (flow: string): void => {
    tracker.register(flow)
    tracker.report(flow, 'success')
  }
  for (let i = 0; i < 100; i++) ask('loud')
  const { credit } = tracker.explain('loud')
  for (let i = 0; i < 40_000; i++) {
    clock.advance(0.05)
    ask(`flow-${i % 100}`)
  }
  // Of the other flows, each of which asks 200 times a second, a third of the requests exceed the rate of the clock.
  expect(tracker.explain('loud').credit).toBeGreaterThan(credit + 3)
  expect(tracker.snapshot().fairRatePerSecond).toBeGreaterThan(100)
})

/** Causes a shortage: for ten seconds, otherwise unused flows ask for four times the capacity. */
function engage(tracker: Tracker, clock: ManualClock): void {
  let tokens = 10
  for (let i = 0; i < 2_000; i++) {
    clock.advance(5)
    tokens = Math.min(10, tokens + 0.25)
    const flow = `other-${(i * 7) % 31}`
    if (!tracker.register(flow)) continue
    tracker.report(flow, tokens >= 1 ? 'success' : 'failure')
    if (tokens >= 1) tokens--
  }
  expect(tracker.snapshot().engaged).toBe(true)
}

/** Registers until it is refused; returns the number of admissions. */
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

  it('in a shortage refuses the flows ahead of the clock, and no others', () => {
    const { clock, tracker } = trackerOf()
    for (const flow of ['loud', 'quiet']) {
      tracker.register(flow)
      tracker.report(flow, 'success')
    }
    engage(tracker, clock)
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
    const { clock, tracker } = trackerOf()
    engage(tracker, clock)
    drain(tracker, 'loud')
    const before = tracker.explain('loud')
    for (let i = 0; i < 100; i++) expect(tracker.register('loud')).toBe(false)
    expect(tracker.explain('loud')).toEqual(before)
  })

  it('gives back what a request was charged that never ran, and not what one was that failed', () => {
    const credits = (['withdrawn', 'failure'] as const).map((end) => {
      const { clock, tracker } = trackerOf()
      tracker.register('a')
      tracker.report('a', 'success')
      engage(tracker, clock)
      const before = tracker.explain('a').credit
      const key = tracker.key('a')
      expect(tracker.register(key)).toBe(true)
      if (end === 'failure') tracker.report(key, 'failure')
      else tracker.withdraw(key)
      return { before, after: tracker.explain('a').credit }
    })
    expect(credits[0]!.after).toBeCloseTo(credits[0]!.before, 9)
    expect(credits[1]!.after).toBeCloseTo(credits[1]!.before - 1, 9)
  })

  it('keeps the charge of what ended with nothing to say about shortage', () => {
    const { clock, tracker } = trackerOf()
    tracker.register('a')
    tracker.report('a', 'success')
    engage(tracker, clock)
    const key = tracker.key('a')
    const before = tracker.explain('a').credit
    tracker.register(key)
    tracker.report(key, 'ignored')
    expect(tracker.explain('a').credit).toBeCloseTo(before - 1, 9)
  })

  it('settles what a request really cost', () => {
    const costs = [0, 1, 5]
    const credits = costs.map((cost) => {
      const { clock, tracker } = trackerOf()
      engage(tracker, clock)
      const key = tracker.key('a')
      tracker.register(key)
      tracker.report(key, 'success', undefined, cost)
      return tracker.explain('a').credit
    })
    expect(credits[0]! - credits[1]!).toBeCloseTo(1, 6)
    expect(credits[1]! - credits[2]!).toBeCloseTo(4, 6)
  })

  it('keeps no more than a dozen requests of credit for anybody, however long they were away', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), fc.integer(), (awayMs, seed) => {
        const clock = manualClock()
        const tracker = new FairTracker({ rule: 'fair-clock', clock, random: seededRandom(seed) })
        engage(tracker, clock)
        clock.advance(awayMs)
        expect(tracker.explain('a').credit).toBeLessThanOrEqual(12)
      }),
    )
  })

  it('lets new flows in a shortage have a quarter of the resource together, however many there are', () => {
    for (const perSecond of [300, 1_000, 5_000]) {
      const { clock, tracker } = trackerOf()
      engage(tracker, clock)
      let tokens = 0
      let admitted = 0
      for (let i = 0; i < 20 * perSecond; i++) {
        clock.advance(1000 / perSecond)
        tokens = Math.min(10, tokens + 50 / perSecond)
        // Known flows go on asking for more than the capacity, one request in a hundred milliseconds each.
        const known = i % Math.ceil(perSecond / 100) === 0
        const flow = known ? `other-${(i / Math.ceil(perSecond / 100)) % 31}` : `invented-${i}`
        if (!tracker.register(flow)) continue
        if (!known) admitted++
        tracker.report(flow, tokens >= 1 ? 'success' : 'failure')
        if (tokens >= 1) tokens--
      }
      expect(tracker.explain('never-seen')).toMatchObject({ newcomer: true, engaged: true })
      expect(admitted).toBeGreaterThan(0)
      // A quarter of 50 a second for 20 s, plus the initial savings.
      expect(admitted).toBeLessThan(1.5 * 0.25 * 50 * 20)
    }
  })

  it.each([
    [10, 0.75],
    [100, 0.55],
  ])(
    'serves visitors that come for two requests within two seconds, beside %d flows that ask for twice the resource: %d',
    (heavy, least) => {
      const served = (gated: boolean): number => {
        const { clock, tracker } = trackerOf()
        const random = seededRandom(7)
        let [tokens, asked, got] = [100, 0, 0]
        for (let second = 0; second < 60; second += 1 / 800) {
          clock.advance(1_000 / 800)
          tokens = Math.min(100, tokens + 300 / 800)
          // A quarter of 800 requests a second: a hundred visitors, of whom each asks twice.
          const isVisit = random() < 1 / 4
          const flow = isVisit
            ? `visitor-${Math.floor((second + 2 * random()) * 100)}`
            : `heavy-${Math.floor(random() * heavy)}`
          const counts = isVisit && second > 30
          if (counts) asked++
          if (gated && !tracker.register(flow)) continue
          const isServed = tokens >= 1
          if (isServed) tokens--
          if (counts && isServed) got++
          if (gated) tracker.report(flow, isServed ? 'success' : 'failure')
        }
        return got / asked
      }
      expect(served(true)).toBeGreaterThan(least)
      expect(served(false)).toBeCloseTo(3 / 8, 1)
    },
  )

  it.each([60_000, 600_000])(
    'takes a flow for new that was not let in for 10 to 20 rotations, or in as long a pause',
    (stepMs) => {
      const { clock, tracker } = trackerOf({ rotateEveryMs: 60_000 })
      engage(tracker, clock)
      drain(tracker, 'a')
      const isNewAfter = (ms: number): boolean => {
        for (let left = ms; left > 0; left -= stepMs) clock.advance(Math.min(left, stepMs))
        return tracker.explain('a').newcomer
      }
      expect(isNewAfter(600_000)).toBe(false)
      expect(isNewAfter(600_000)).toBe(true)
    },
  )

  it('is no worse than none for tenants that ask once in five minutes, beside as many requests of others', () => {
    const served = (gated: boolean): number => {
      const { clock, tracker } = trackerOf()
      const random = seededRandom(5)
      let [tokens, asked, got] = [20, 0, 0]
      for (let ms = 0; ms < 900_000; ms += 6.25) {
        clock.advance(6.25)
        tokens = Math.min(20, tokens + 0.625)
        const isRare = random() < 0.5
        const flow = isRare ? `rare-${Math.floor(24_000 * random())}` : `other-${Math.floor(75 * random())}`
        if (isRare && ms > 600_000) asked++
        if (gated && !tracker.register(flow)) continue
        const isServed = tokens >= 1
        if (isServed) tokens--
        if (gated) tracker.report(flow, isServed ? 'success' : 'failure')
        if (isServed && isRare && ms > 600_000) got++
      }
      return got / asked
    }
    expect(served(true)).toBeGreaterThan(served(false))
  })

  it('knows debts across a rotation, in other cells, and forgets them when several were missed', () => {
    const { clock, tracker } = trackerOf({ rotateEveryMs: 11_000 })
    engage(tracker, clock)
    clock.advance(999)
    drain(tracker, 'loud')
    clock.advance(1)
    expect(tracker.register('loud')).toBe(false)
    expect(tracker.snapshot()).toMatchObject({ rotations: 1 })
    clock.advance(33_000)
    expect(tracker.explain('loud').credit).toBeGreaterThanOrEqual(tracker.explain('never-seen').credit)
  })

  it('goes on from wherever a clock jumps to, when the time is handed in', () => {
    const { clock, tracker } = trackerOf()
    engage(tracker, clock)
    const flow = 'other-1'
    drain(tracker, flow)
    const { credit } = tracker.explain(flow, 11_000)
    expect(tracker.explain(flow, -1_000_000).credit).toBe(credit)
    expect(tracker.explain(flow, -999_000).credit).toBeGreaterThan(credit)
  })

  it('shows the loudest, and nothing but their names', () => {
    const { tracker } = trackerOf()
    for (let i = 0; i < 90; i++) tracker.register('loud')
    for (let i = 0; i < 10; i++) tracker.register(`quiet-${i}`)
    const { talkers } = tracker.snapshot()
    expect(talkers[0]).toMatchObject({ flow: 'loud', askedShare: 0.9, refusedShare: 0 })
    expect(talkers.length).toBeLessThanOrEqual(16)
    expect(JSON.parse(JSON.stringify(tracker.snapshot()))).toEqual(tracker.snapshot())
  })
})

describe('flows that are known', () => {
  const placement = new IndependentPlacement(1, 64, seededRandom(1))
  const key = (name: string): FlowKey => {
    const made = new FlowKey(name)
    placement.digest(made)
    return made
  }

  it('are told from those that nobody has heard of, however long a quarter of 1000 a second goes to invented names', () => {
    const known = new KnownFlows(4096)
    let taken = 0
    for (let minute = 0; minute < 30; minute++) {
      for (let i = 0; i < 15_000; i++) known.add(key(`${minute}-${i}`))
      for (let i = 0; i < 1_000; i++) if (known.has(key(`unheard-${minute}-${i}`))) taken++
      known.rotate(1)
    }
    // At ten times the capacity, as many as a twentieth of it.
    expect(taken).toBeLessThan(0.005 * 30_000)
  })

  it('are told from those that nobody has heard of also where no rotation ever comes', () => {
    const known = new KnownFlows(64)
    for (let i = 0; i < 200_000; i++) known.add(key(`${i}`))
    let taken = 0
    for (let i = 0; i < 10_000; i++) if (known.has(key(`unheard-${i}`))) taken++
    expect(taken).toBeLessThan(200)
    expect(known.has(key('199999'))).toBe(true)
  })

  it('are known for two generations, which end sooner where crowds come', () => {
    const known = new KnownFlows(64)
    known.add(key('a'))
    known.rotate(9)
    known.add(key('b'))
    known.rotate(1)
    expect([known.has(key('a')), known.has(key('b'))]).toEqual([true, true])
    for (let i = 0; i < 800; i++) known.add(key(`crowd-${i}`))
    known.rotate(1)
    known.rotate(9)
    expect(known.has(key('crowd-1'))).toBe(true)
    known.rotate(1)
    expect(['a', 'b', 'crowd-1'].filter((name) => known.has(key(name)))).toEqual([])
  })

  it('stay known by a request that arrived in one generation and was served in the next', () => {
    const known = new KnownFlows(64)
    known.add(key('slow'))
    const request = key('slow')
    expect(known.has(request)).toBe(true)
    known.rotate(10)
    known.add(request)
    known.rotate(10)
    expect(known.has(key('slow'))).toBe(true)
  })
})

describe('options of the fair clock', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ rule: 'red' }, 'fair.rule must be one of "fair-clock", "blue", got "red"'],
    [{ rule: 'fair-clock', failureIncrement: 0.1 }, 'fair has no option "failureIncrement"'],
    [{ rule: 'fair-clock', placement: () => {} }, 'fair has no option "placement"'],
    [{ ...blue(), credit: 12 }, 'fair has no option "credit"'],
    [{ ...blue(), weightOf: () => 1 }, 'fair has no option "weightOf"'],
    [{ rule: 'blue' }, "fair with rule 'blue' must be made by blue()"],
    [{ rule: 'blue', levels: 3 }, 'fair has no option "levels"'],
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

describe('a shortage that is over, where a tenth still fails for another reason', () => {
  it('leaves what is served near what the shortage had shown, also while the reason is looked for', () => {
    for (let seed = 1; seed <= byWidth(3, 8); seed++) {
      const random = seededRandom(seed)
      let now = 0
      let tokens = 20
      const tracker = new FairTracker({ clock: () => now, random })
      const served = new Array<number>(3).fill(0)
      while (now < 240_000) {
        const overload = now < 60_000
        const passed = -Math.log(1 - random()) * (overload ? 5 : 10)
        now += passed
        tokens = Math.min(20, tokens + passed / 10)
        const flow = tracker.key(`flow-${Math.floor(random() * 100)}`)
        if (!tracker.register(flow, now)) continue
        const works = random() >= 0.1 && (!overload || tokens >= 1)
        if (works) tokens--
        if (works && !overload && now < 240_000) served[Math.floor(now / 60_000) - 1]!++
        tracker.report(flow, works ? 'success' : 'failure', now)
      }
      for (const of of served) expect(of).toBeGreaterThan(0.8 * 0.9 * 6_000)
    }
  })
})
