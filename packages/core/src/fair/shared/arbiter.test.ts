import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import type { ClockBelief } from '../clock/state.js'
import { FairTracker } from '../tracker.js'
import { ClockArbiter } from './arbiter.js'
import { packReport, unpackLease } from './wire.js'

const BELIEF: ClockBelief = {
  time: 7,
  rate: 2,
  open: false,
  meanCost: 1,
  usual: 0,
  deliverable: 25,
  left: 0,
  owed: 0,
  fill: 25,
  floor: 24,
  reserve: 3,
  most: 12,
  looking: false,
}

/** The state of an arbiter after these greetings, one process each. */
function startOf(...greetings: (Partial<ClockBelief> & { following: boolean })[]): ClockBelief | undefined {
  const arbiter = new ClockArbiter()
  const leases = greetings.map(({ following, ...belief }, i) => {
    const greeting = { credit: 12, probe: 0.02, belief: { ...BELIEF, ...belief }, following }
    const report = packReport({ member: `member-${i}`, sentAtMs: 0, greeting, periods: [] })
    return arbiter.hear(report, 100_000 + i).get(`member-${i}`)
  })
  return unpackLease(leases.at(-1)!)?.belief
}

describe('an arbiter that begins', () => {
  it('goes on from what the process in the middle was told by the one before', () => {
    const told = [90, 1e6, 100, 1, 110].map((deliverable) => ({ deliverable, following: true }))
    expect(startOf(...told)?.deliverable).toBe(100)
    expect(startOf({ deliverable: 25, following: false }, ...told)?.deliverable).toBe(100)
  })

  it('starts from the sum of the parts of processes on their own, each of which counts as four of most at most', () => {
    const alone = (deliverable: number) => ({ deliverable, following: false })
    expect(startOf(alone(20), alone(30), alone(25))?.deliverable).toBe(75)
    expect(startOf(alone(20), alone(30), alone(25), alone(1e6))?.deliverable).toBe(175)
  })

  it('refuses nothing if most of them see no shortage', () => {
    const [short, calm] = [{ following: false }, { following: false, open: true }]
    expect([startOf(calm, calm, short)?.open, startOf(calm, short, short)?.open]).toEqual([true, false])
  })
})

describe('a process that falls silent', () => {
  it('is gone after 1.7 seconds, and no sooner', () => {
    const arbiter = new ClockArbiter()
    const greeting = { credit: 12, probe: 0.02, belief: BELIEF, following: false }
    const hear = (member: string, atMs: number, greets = false): number | undefined => {
      const report = packReport({ member, sentAtMs: 0, ...(greets && { greeting }), periods: [] })
      const lease = arbiter.hear(report, atMs).get(member)
      return lease === undefined ? undefined : unpackLease(lease)?.members
    }
    hear('silent', 100_000, true)
    expect(hear('other', 100_000, true)).toBe(2)
    const members = Array.from({ length: 20 }, (_, i) => hear('other', 100_100 + 100 * i))
    expect(members).toEqual([...Array<number>(17).fill(2), 1, 1, 1])
  })
})

describe('a lease', () => {
  it('is good for 1.5 seconds: then the process is on its own', () => {
    const clock = manualClock()
    const arbiter = new ClockArbiter()
    let isReached = true
    const join = (_name: string, hear: (lease: string) => void) => (report: string) => {
      if (!isReached) return
      for (const [, lease] of arbiter.hear(report, clock())) hear(lease)
    }
    const tracker = new FairTracker({ clock, shared: { link: { join } } })
    const ask = (seconds: number): unknown => {
      for (let i = 0; i < 100 * seconds; i++) {
        clock.advance(10)
        if (tracker.register('somebody')) tracker.report('somebody', i % 2 === 0 ? 'success' : 'failure')
      }
      return tracker.snapshot().sharing
    }
    expect(ask(5)).not.toBeNull()
    isReached = false
    expect(ask(1.4)).not.toBeNull()
    expect(ask(0.2)).toBeNull()
  })
})
