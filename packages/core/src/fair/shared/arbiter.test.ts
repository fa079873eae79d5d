import { describe, expect, it, vi } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import type { ClockBelief } from '../clock/state.js'
import { FairTracker } from '../tracker.js'
import { ClockArbiter } from './arbiter.js'
import type { ClockLease, ReportedPeriod, SlotSums } from './report.js'
import { SharedFairClock } from './shared-fair-clock.js'
import { packLease, packReport, unpackLease } from './wire.js'

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
    const greeting = { credit: 12, probe: 0.02, belief: { ...BELIEF, ...belief }, following, asking: false }
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

  it('does not believe one of several that it was told anything', () => {
    const alone = { deliverable: 25, following: false }
    for (const lie of [{ rate: 1e15 }, { deliverable: 1e15 }, { rate: 1e-9, deliverable: 0 }, { open: true }]) {
      const start = startOf({ ...lie, following: true }, alone, alone, alone)
      expect(start).toMatchObject({ deliverable: 75, rate: 2, open: false })
    }
  })

  it('takes no amount from one that differs much from that of most', () => {
    const told = { deliverable: 100, following: true }
    for (const amount of ['rate', 'meanCost', 'fill', 'floor', 'reserve', 'most'] as const) {
      const [high, low] = [1e15, 1e-9].map((lie) => startOf({ ...told, deliverable: 100, [amount]: lie }, told, told))
      expect(high![amount]).toBeLessThanOrEqual(4 * BELIEF[amount])
      expect(low![amount]).toBeGreaterThanOrEqual(BELIEF[amount] / 4)
    }
  })

  it('refuses nothing if most of them see no shortage', () => {
    const [short, calm] = [{ following: false }, { following: false, open: true }]
    expect([startOf(calm, calm, short)?.open, startOf(calm, short, short)?.open]).toEqual([true, false])
  })
})

describe('a process that falls silent', () => {
  it('is gone after 1.7 seconds, and no sooner', () => {
    const arbiter = new ClockArbiter()
    const greeting = { credit: 12, probe: 0.02, belief: BELIEF, following: false, asking: false }
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

describe('a clock that has run far', () => {
  it('tells its position as exactly as before: a request is a small difference', () => {
    const time = 123_456_789_012_345.67
    const told = { arbiter: 'x', periodMs: 100, period: 1, members: 1, part: 1, heard: 1, flows: [] }
    const lease = { ...told, belief: { ...BELIEF, time }, sentAtMs: 0, heardAtMs: 0, atMs: 0 }
    expect(unpackLease(packLease(lease))?.belief.time).toBeCloseTo(time, 1)
  })
})

describe('a clock that has run too far for a lease', () => {
  it('is silent for half a minute, and then another begins', () => {
    const arbiter = new ClockArbiter()
    const greeting = { credit: 12, probe: 0.02, belief: { ...BELIEF, rate: 1e15 }, following: true, asking: false }
    const heard = Array.from({ length: 400 }, (_, i) => {
      const report = packReport({ member: 'x', sentAtMs: 0, greeting, periods: [] })
      return arbiter.hear(report, 100_000 + 100 * i).get('x')
    })
    const leases = heard.map((lease) => lease !== undefined)
    for (const lease of heard) if (lease !== undefined) expect(unpackLease(lease)).toBeDefined()
    const last = leases.indexOf(false)
    expect(last).toBeGreaterThan(0)
    expect(leases.indexOf(true, last) - last).toBeGreaterThan(280)
    expect(leases.indexOf(true, last) - last).toBeLessThan(320)
  })
})

describe('a lease for long names', () => {
  it('has as many flows as its length allows, and the others get their turn', () => {
    const periodMs = 1_000
    const arbiter = new ClockArbiter(periodMs)
    const greeting = { credit: 12, probe: 0.02, belief: BELIEF, following: false, asking: false }
    const members = ['a', 'b', 'c', 'd', 'e']
    for (const member of members)
      arbiter.hear(packReport({ member, sentAtMs: 0, greeting, periods: [] }), 100 * periodMs)
    const told = new Set<string>()
    for (let period = 100; period < 106; period++)
      for (const member of members) {
        const names = Array.from({ length: 35 }, (_, i) => [i, `${member}${i}`.padEnd(256, '\u0001')] as const)
        const slot = 5 * period
        const counts = { known: 35, ahead: 0, strained: 0, settled: 0, ended: [] }
        const slots: SlotSums[] = [{ slot, letIn: [35, 35], refused: [0, 0], ...counts }]
        const flows = period > 100 ? [] : names.map(([i]) => [i, 0, 1, 1] as const)
        const sums = { period, slots, names: period > 100 ? [] : names, flows }
        const report = packReport({ member, sentAtMs: 0, periods: [sums] })
        for (const lease of arbiter.hear(report, (period + 1) * periodMs + 1).values()) {
          const read = unpackLease(lease)
          expect(read).toBeDefined()
          for (const [flow] of read!.flows) told.add(flow)
        }
      }
    expect(told.size).toBe(5 * 35)
  })
})

describe('a report that is missing', () => {
  const PERIOD_MS = 100
  const FIRST = 1_000
  /** One request is admitted in the period's first slot, and served. */
  const sumsOf = (period: number): ReportedPeriod => {
    const slot = 5 * period
    const ended = [{ letIn: slot, success: [1, 1], failure: [0, 0], ignored: [0, 0], expected: 0 }] as const
    const counts = { refused: [0, 0], known: 1, ahead: 0, strained: 0, settled: 0 } as const
    return { period, slots: [{ slot, letIn: [1, 1], ...counts, ended: ended as never } as never], names: [], flows: [] }
  }

  /** An arbiter of the processes a, b, c and d, which report 2, 3, 4 and 5 ms after the end of each period. */
  const rig = (hasTimer = true) => {
    const clock = manualClock()
    clock.advance(FIRST * PERIOD_MS)
    let timers: { atMs: number; ring: () => void }[] = []
    const leases: (ClockLease & { to: string; cameMs: number })[] = []
    const tell = (told: ReadonlyMap<string, string>): void => {
      for (const [to, lease] of told) leases.push({ ...unpackLease(lease)!, to, cameMs: clock() })
    }
    const after = (ms: number, ring: () => void) => {
      timers.push({ atMs: clock() + ms, ring })
      return () => {}
    }
    const arbiter = new ClockArbiter(PERIOD_MS, hasTimer ? { now: clock, after, tell } : undefined)
    const waitUntil = (atMs: number): void => {
      for (;;) {
        const next = timers.toSorted((x, y) => x.atMs - y.atMs)[0]
        if (next === undefined || next.atMs > atMs) break
        timers = timers.filter((each) => each !== next)
        clock.advance(next.atMs - clock())
        next.ring()
      }
      clock.advance(atMs - clock())
    }
    const unheard = new Map([...'abcd'].map((member) => [member, [] as ReportedPeriod[]]))
    const greeting = { credit: 12, probe: 0.02, belief: BELIEF, following: false, asking: false }
    for (const member of unheard.keys())
      tell(arbiter.hear(packReport({ member, sentAtMs: 0, greeting, periods: [] }), clock()))
    const send = (member: string, periods: ReportedPeriod[]): void =>
      tell(arbiter.hear(packReport({ member, sentAtMs: 0, periods }), clock()))
    /** All report this period, except those whose report is lost: their next one has its sums, too. */
    const report = (period: number, lost = ''): void => {
      for (const [i, [member, sums]] of [...unheard].entries()) {
        sums.push(sumsOf(period))
        if (lost.includes(member)) continue
        waitUntil((period + 1) * PERIOD_MS + 2 + i)
        send(member, sums.splice(0))
      }
    }
    return { leases, report, waitUntil, unheard, send }
  }
  const LAST = FIRST + 19

  const settled = (hasTimer = true) => {
    const all = rig(hasTimer)
    for (let period = FIRST; period <= LAST; period++) all.report(period)
    return all
  }

  it('is waited for as long as reports usually need, and no longer', () => {
    const { leases, report, waitUntil } = settled()
    // When the last has reported.
    expect(leases.findLast(({ period }) => period === LAST)?.cameMs).toBe((LAST + 1) * PERIOD_MS + 5)
    report(LAST + 1, 'b')
    waitUntil((LAST + 2.5) * PERIOD_MS)
    const missed = leases.filter(({ period }) => period === LAST + 1)
    expect(new Set(missed.map(({ to }) => to))).toEqual(new Set('abcd'))
    for (const { cameMs } of missed) {
      expect(cameMs).toBeGreaterThan((LAST + 2) * PERIOD_MS + 5)
      expect(cameMs).toBeLessThan((LAST + 2) * PERIOD_MS + 15)
    }
  })

  it('is not waited for any longer if nobody reports the next period', () => {
    const { leases, report, waitUntil } = settled()
    report(LAST + 1, 'b')
    report(LAST + 2, 'abcd')
    waitUntil((LAST + 3.5) * PERIOD_MS)
    expect(leases.find(({ period }) => period === LAST + 2)?.cameMs).toBeLessThan((LAST + 3) * PERIOD_MS + 15)
  })

  it('is waited for until the next report of any process if the arbiter has no timer', () => {
    const { leases, report } = settled(false)
    report(LAST + 1, 'b')
    report(LAST + 2)
    expect(leases.find(({ period }) => period === LAST + 1)?.cameMs).toBe((LAST + 3) * PERIOD_MS + 2)
  })

  it('changes nothing in the end: what it told counts with the next one', () => {
    const [complete, incomplete] = [settled(), settled()]
    for (let period = LAST + 1; period < LAST + 4; period++) {
      complete.report(period)
      incomplete.report(period, period === LAST + 1 ? 'b' : '')
    }
    const [known, lost] = [complete, incomplete].map(({ leases }) => leases.at(-1)!)
    expect(lost!.period).toBe(known!.period)
    expect(lost!.belief.left).toBeCloseTo(known!.belief.left, 5)
    const partOf = ({ leases }: typeof complete, of: string) => leases.findLast(({ to }) => to === of)!.part
    expect(partOf(incomplete, 'b')).toBeCloseTo(partOf(complete, 'b'), 2)
  })

  it('of a process that is always late does not hide its part when it falls silent', () => {
    const doubt = vi.spyOn(SharedFairClock.prototype, 'doubt')
    const { report, unheard, send } = rig()
    unheard.delete('d')
    for (let period = FIRST; period <= LAST; period++) {
      report(period)
      send('d', [sumsOf(period - 2)])
    }
    for (let period = LAST + 1; period <= LAST + 20; period++) report(period)
    expect(doubt).toHaveBeenCalledTimes(1)
    expect(doubt.mock.calls[0]![0]).toBeCloseTo(0.25, 1)
    doubt.mockRestore()
  })
})
