import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { FairTracker } from '../tracker.js'
import { Fleet, type FleetSettings } from './fixtures/fleet.js'
import type { ClockLease, ClockLink, ClockReport } from './report.js'

/** Eighteen quiet flows ask two thirds of their share, two ask ten times theirs. */
const NOISY = { capacity: 100, burst: 100, crowds: [[18, 3.33], [2, 50]], processes: 4, seconds: 60 } as const // biome-ignore format: one line

const noisy = (settings: Partial<FleetSettings> = {}) => new Fleet({ ...NOISY, ...settings }).run()
/** When the shortage is proven, and the rate found. */
const SETTLED = 15

describe('processes that share a clock', () => {
  const one = noisy({ processes: 1, shared: false })

  it.each([
    { processes: 2 },
    { processes: 4 },
    { processes: 8 },
    { processes: 16 },
    { processes: 4, routing: 'by flow' },
    { processes: 8, routing: 'by flow' },
    { processes: 4, routing: 'skewed' },
    { processes: 4, lost: 0.05 },
    { processes: 4, delayMs: 60 },
    { processes: 4, skewMs: 3_600_000 },
  ] as const)('are as fair as one process: %o', (settings) => {
    const fleet = noisy(settings)
    const { mean, worst } = fleet.quiet(SETTLED, 60)
    expect(mean).toBeGreaterThan(one.quiet(SETTLED, 60).mean - 0.02)
    expect(worst).toBeGreaterThan(one.quiet(SETTLED, 60).worst - 0.05)
    expect(fleet.failedShare(SETTLED, 60)).toBeLessThan(one.failedShare(SETTLED, 60) + 0.02)
    expect(fleet.total('served', SETTLED, 60)).toBeGreaterThan(0.98 * NOISY.capacity * (60 - SETTLED))
  })

  it('serve many clients of an interface as evenly as one process', () => {
    const api = { capacity: 100, burst: 100, seconds: 90, crowds: [[180, 0.5], [20, 10]] } as const // biome-ignore format: one line
    const alone = new Fleet({ ...api, processes: 1, shared: false }).run()
    const fleet = new Fleet({ ...api, processes: 8 }).run()
    expect(fleet.quiet(SETTLED, 90).mean).toBeGreaterThan(alone.quiet(SETTLED, 90).mean - 0.02)
    expect(fleet.failedShare(0, 90)).toBeLessThan(alone.failedShare(0, 90) + 0.02)
  })

  it('say nothing while there is enough', () => {
    const fleet = noisy({ capacity: 200, seconds: 20 })
    expect(fleet.reports).toEqual([])
    expect(fleet.total('served', 0, 20)).toBe(fleet.total('asked', 0, 20))
  })

  it('say nothing any more five seconds after the trouble', () => {
    const settings: FleetSettings = { ...NOISY, crowds: [[20, 8]], burst: 20 }
    settings.each = (second, fleet) => {
      if (second === 20) fleet.settings.capacity = 1_000
    }
    const fleet = new Fleet(settings)
    const { capacity } = NOISY
    expect(capacity).toBeLessThan(160)
    fleet.run()
    expect(fleet.reports.some(({ atMs }) => atMs < 20_000)).toBe(true)
    expect(fleet.reports.filter(({ atMs }) => atMs > 50_000)).toEqual([])
    expect(fleet.processes.map(({ tracker }) => tracker.snapshot().sharing)).toEqual([null, null, null, null])
  })

  it('send eleven messages a second at most, whatever the load, and nothing of single requests', () => {
    const at = (factor: number) => {
      const crowds = NOISY.crowds.map(([flows, rate]) => [flows, factor * rate] as const)
      const fleet = new Fleet({ ...NOISY, crowds, capacity: 100 * factor, burst: 100 * factor, seconds: 20 }).run()
      const { reports, leases } = fleet
      const size = (list: typeof reports) => list.reduce((sum, { bytes }) => sum + bytes, 0) / 20 / NOISY.processes
      expect(Math.max(reports.length, leases.length) / 20 / NOISY.processes).toBeLessThanOrEqual(11)
      return { up: size(reports), down: size(leases) }
    }
    const [little, much] = [at(1), at(10)]
    expect(much.up).toBeLessThan(2 * little.up)
    expect(much.down).toBeLessThan(2 * little.down)
  })

  it('say with how many they share, and which part is theirs', () => {
    const fleet = noisy({ seconds: 30, routing: 'skewed' })
    const all = fleet.processes.map(({ tracker }) => tracker.snapshot().sharing!)
    expect(all.map(({ members }) => members)).toEqual([4, 4, 4, 4])
    expect(all.reduce((sum, { part }) => sum + part, 0)).toBeCloseTo(1, 1)
    expect(all[0]!.part).toBeGreaterThan(2 * all[3]!.part)
    for (const { ageMs } of all) expect(ageMs).toBeLessThan(1_000)
    expect(fleet.processes[0]!.tracker.explain('flow-0')).toMatchObject({ shared: true, engaged: true })
  })
})

describe('when something fails', () => {
  const alone = noisy({ shared: false })
  /** Never worse than processes that know nothing of each other, by more than a point. */
  const atLeastAsAlone = (fleet: Fleet, from: number, to: number) => {
    expect(fleet.quiet(from, to).mean).toBeGreaterThan(alone.quiet(SETTLED, 60).mean - 0.01)
    expect(fleet.failedShare(from, to)).toBeLessThan(alone.failedShare(SETTLED, 60) + 0.01)
  }

  it('an arbiter that is away for twenty seconds leaves each process on its own, with its part', () => {
    let during: unknown
    const fleet = noisy({
      each(second, { processes }) {
        for (const process of processes) process.isReached = second < 20 || second >= 40
        if (second === 30) during = processes.map(({ tracker }) => tracker.snapshot())
      },
    })
    const snapshots = during as { sharing: unknown; deliverablePerSecond: number }[]
    expect(snapshots.map(({ sharing }) => sharing)).toEqual([null, null, null, null])
    for (const { deliverablePerSecond } of snapshots) expect(deliverablePerSecond).toBeLessThan(50)
    atLeastAsAlone(fleet, 20, 40)
    atLeastAsAlone(fleet, 41, 60)
    expect(fleet.processes.map(({ tracker }) => tracker.snapshot().sharing?.members)).toEqual([4, 4, 4, 4])
  })

  it('another arbiter goes on from what the processes believe', () => {
    const fleet = noisy({
      each(second, each) {
        if (second === 30) each.replaceArbiter()
      },
    })
    atLeastAsAlone(fleet, 30, 45)
    expect(fleet.processes.map(({ tracker }) => tracker.snapshot().sharing?.members)).toEqual([4, 4, 4, 4])
  })

  it('processes that are replaced one after the other are joined by their successors', () => {
    const fleet = noisy({
      each(second, each) {
        if (second >= 20 && second % 8 === 0) each.restart((second / 8) % 4)
      },
    })
    atLeastAsAlone(fleet, 20, 60)
  })

  it('a process that stops for ten seconds is done without, and comes back', () => {
    let during: (number | undefined)[] = []
    const fleet = noisy({
      each(second, { processes }) {
        processes[1]!.isStopped = second >= 20 && second < 30
        if (second === 25) during = processes.map(({ tracker }) => tracker.snapshot().sharing?.members)
      },
    })
    expect([during[0], during[2], during[3]]).toEqual([3, 3, 3])
    atLeastAsAlone(fleet, 20, 60)
    expect(fleet.processes[1]!.tracker.snapshot().sharing?.members).toBe(4)
  })

  it('a process that is cut off is on its own, and the others share without it', () => {
    const fleet = noisy({
      each(second, { processes }) {
        processes[2]!.isReached = second < 20
      },
    })
    atLeastAsAlone(fleet, 20, 60)
    expect(fleet.processes.map(({ tracker }) => tracker.snapshot().sharing?.members)).toEqual([3, 3, undefined, 3])
  })
})

describe('what a process says and hears', () => {
  /** A process before a resource that serves every other request, at 100 a second. */
  const lonely = (options: { name?: string } = {}) => {
    const clock = manualClock()
    const joined: string[] = []
    const reports: ClockReport[] = []
    let hear: (lease: ClockLease) => void = () => {}
    const link: ClockLink = {
      join(name, listen) {
        joined.push(name)
        hear = listen
        return (report) => reports.push(report)
      },
    }
    const tracker = new FairTracker({ clock, shared: { link, ...options } })
    const ask = (requests: number) => {
      for (let i = 0; i < requests; i++) {
        clock.advance(10)
        if (tracker.register('somebody')) tracker.report('somebody', i % 2 === 0 ? 'success' : 'failure')
      }
    }
    return { clock, joined, reports, tracker, ask, hear: (lease: ClockLease) => hear(lease) }
  }

  it('asks once a second while nobody answers, and decides by itself', () => {
    const { ask, reports, tracker } = lonely()
    ask(1_000)
    expect(reports.length).toBeGreaterThanOrEqual(9)
    expect(reports.length).toBeLessThanOrEqual(10)
    expect(reports.every(({ periods, greeting }) => periods.length === 0 && greeting?.following === false)).toBe(true)
    expect(tracker.snapshot().sharing).toBeNull()
  })

  it('shares under the name of the resource, and of the parts of the service', () => {
    const { joined, tracker } = lonely({ name: 'orders' })
    tracker.another('reports')
    expect(joined).toEqual(['orders', 'orders/reports'])
  })

  it('listens to nobody whom it did not ask', () => {
    const { ask, hear, reports, tracker } = lonely()
    ask(150)
    const { belief } = reports[0]!.greeting!
    const times = { sentAtMs: 0, heardAtMs: 0, atMs: 0 }
    const lease = { arbiter: 'x', periodMs: 100, period: 1e9, belief, members: 9, part: 0.1, heard: 0, flows: [], ...times }
    hear(lease)
    hear({ ...lease, arbiter: 'y', period: 2e9 })
    const quiet = new FairTracker({ clock: manualClock(), shared: false })
    expect(quiet.snapshot().sharing).toBeNull()
    expect(tracker.snapshot().sharing).toBeNull()
  })

  it('names what is wrong with its options', () => {
    const of = (shared: object) => () => new FairTracker({ shared })
    expect(of({ name: '' })).toThrow(/fair\.shared\.name/)
    expect(of({ link: {} })).toThrow(/fair\.shared\.link\.join/)
    expect(of({ nmae: 'x' })).toThrow(/nmae/)
  })
})
