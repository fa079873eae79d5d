import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it, vi } from 'vitest'
import { FairClock } from '../clock/fair-clock.js'
import { ClockArbiter } from './arbiter.js'
import { Fleet } from './fixtures/fleet.js'
import { Replay } from './replay.js'
import { type Amount, type Ended, SLOTS, type SlotSums } from './report.js'
import { SharedFairClock } from './shared-fair-clock.js'
import { packReport } from './wire.js'

const PERIOD_MS = 100
/** Of a clock, for one period. */
const MOST_CALLS = 5_000
const MOST: Amount = [20_000, 20_000]
const NONE: Amount = [0, 0]
const belief = new SharedFairClock(10, 0.1, 0).belief

const CALLS = 'advance note arrives letIn refuse shadow strain succeeded failed ignored'.split(' ') as 'letIn'[]

/** Most calls of the clock, and reads, by one `hear`, while this number of processes reports this for each slot. */
function work(members: number, slotsEach: number, said: (slot: number) => Omit<SlotSums, 'slot'>) {
  const arbiter = new ClockArbiter(PERIOD_MS)
  const nowMs = 1_000_000
  for (let i = 0; i < members; i++) {
    const greeting = {
      credit: 10,
      probe: 0.1,
      following: false,
      asking: false,
      belief: { ...belief, open: false, deliverable: 1e6 },
    }
    arbiter.hear(packReport({ member: `m${i}`, sentAtMs: 0, greeting, periods: [] }), nowMs)
  }
  let [calls, rows] = [0, 0]
  for (const name of CALLS) {
    const call = FairClock.prototype[name]
    vi.spyOn(FairClock.prototype, name).mockImplementation(function (this: FairClock, ...args) {
      calls++
      call.apply(this, args)
    })
  }
  const { play } = Replay.prototype
  vi.spyOn(Replay.prototype, 'play').mockImplementation(function (this: Replay, clock, slot, all) {
    rows += all.reduce((sum, { ended }) => sum + ended.length, 0)
    play.call(this, clock, slot, all)
  })
  let [most, mostRows] = [0, 0]
  for (let period = nowMs / PERIOD_MS; period < nowMs / PERIOD_MS + 3; period++) {
    for (let i = 0; i < members; i++) {
      const slots = Array.from({ length: slotsEach }, (_, j) => {
        const slot = SLOTS * period + (j % SLOTS)
        return { ...said(slot), slot }
      })
      const text = packReport({ member: `m${i}`, sentAtMs: 0, periods: [{ period, slots, names: [], flows: [] }] })
      expect(text.length).toBeLessThan(65_536)
      calls = rows = 0
      arbiter.hear(text, (period + 1) * PERIOD_MS + i / members)
      most = Math.max(most, calls)
      mostRows = Math.max(mostRows, rows)
    }
  }
  vi.restoreAllMocks()
  return { most, mostRows }
}

const all = (ended: readonly Ended[]): Omit<SlotSums, 'slot'> => {
  return { letIn: MOST, refused: MOST, known: 20_000, ahead: 10_000, strained: 20_000, settled: 0, ended }
}

describe('what a report costs the arbiter', () => {
  it.each([1, 20, 100])('is bounded, whatever %d processes claim to have let in, refused and served', (members) => {
    const { most } = work(members, 10, (slot) =>
      all([{ letIn: slot, success: [10_000, 10_000], failure: [5_000, 5_000], ignored: [5_000, 5_000], expected: 0 }]),
    )
    expect(most).toBeGreaterThan(MOST_CALLS / 4)
    expect(most).toBeLessThan(MOST_CALLS)
  })

  it('is bounded however many rows of outcomes they tell of', () => {
    const ended = (slot: number): Ended[] =>
      Array.from({ length: 300 }, (_, i) => ({
        letIn: slot - i,
        success: [1, 1],
        failure: NONE,
        ignored: NONE,
        expected: 0,
      }))
    const { most, mostRows } = work(40, 10, (slot) => all(ended(slot)))
    expect(most).toBeLessThan(MOST_CALLS)
    expect(mostRows).toBeLessThan(100_000)
    expect(work(4, 10, (slot) => all(ended(slot))).mostRows).toBeGreaterThanOrEqual(4 * 10 * 300)
  })

  it.runIf(byWidth(false, true))(
    'of a fleet of more requests than are played one by one buys the same decisions',
    () => {
      const crowds = [[18, 660] as const, [2, 7_320] as const]
      const fleet = new Fleet({ capacity: 20_000, burst: 10_000, crowds, processes: 8, seconds: 16 }).run()
      // By four seeds .90 to .95 and .000 to .005: the fair rate is still being found.
      expect(fleet.quiet(12, 16).mean).toBeGreaterThan(0.85)
      expect(fleet.failedShare(12, 16)).toBeLessThan(0.05)
      expect(fleet.total('served', 12, 16)).toBeGreaterThan(0.97 * 4 * 20_000)
    },
  )
})

it.each([
  ['that are reported at one time', 0.02, 0, 1],
  ['at one time, once a rate is known,', 0, 100, 11],
])('admissions %s need no larger reserve', (_, grain, deliverable, target) => {
  const clock = new SharedFairClock(10, 0.1, 0, grain)
  clock.advance(0)
  clock.start({ ...belief, open: false, deliverable, fill: 100 })
  for (let time = 1; time < 100; time++) {
    for (let i = 0; i < 500; i++) clock.note({ at: 0, window: -1, look: 0, isDry: false, running: 0 }, 1)
    clock.advance(0.02 * time)
  }
  expect(clock.reserve.target).toBeCloseTo(target, 0)
})

describe('a slot of a hundred requests and one of twenty thousand', () => {
  it('count with what they cost, and their requests with what each does', () => {
    const of = (requests: number) => {
      const clock = new SharedFairClock(10, 0.1, 0, 0.02)
      clock.advance(0)
      clock.start({
        ...belief,
        meanCost: 3,
        open: false,
        deliverable: 1e6,
        fill: 1e6,
        reserve: 1e5,
        left: 5e4,
        most: 5e5,
      })
      const amount: Amount = [requests, 3 * requests]
      const ended = [{ letIn: 0, success: amount, failure: NONE, ignored: NONE, expected: 0 }]
      const sums = { slot: 0, letIn: amount, refused: NONE, known: 0, ahead: 0, strained: 0, settled: 0, ended }
      new Replay(0.02).play(clock, 0, [sums])
      return clock
    }
    const [few, many] = [of(100), of(20_000)]
    expect(few.meanCost).toBeCloseTo(many.meanCost)
    expect((few.reserve.left - many.reserve.left) / (3 * (20_000 - 100))).toBeCloseTo(1, 1)
  })
})
