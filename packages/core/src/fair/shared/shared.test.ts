import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { createGate } from '../../create-gate.js'
import { manualClock } from '../../testing/manual-clock.js'
import { FairTracker } from '../tracker.js'
import { ClockArbiter } from './arbiter.js'
import { Fleet, type FleetSettings } from './fixtures/fleet.js'
import { means, NOISY, noisy, SETTLED } from './fixtures/noisy.js'
import type { ClockLease, ClockLink, ClockReport, Ended, SlotSums } from './report.js'
import { SharedFairClock } from './shared-fair-clock.js'
import { packLease, packReport, unpackLease, unpackReport } from './wire.js'

describe('processes that share a clock', () => {
  const one = means({ processes: 1, shared: false })

  const few: Partial<FleetSettings>[] = [{ processes: 4, routing: 'skewed', lost: 0.05 }]
  const more: Partial<FleetSettings>[] = [
    { processes: 4, routing: 'by flow' },
    { processes: 4, routing: 'skewed' },
    { processes: 4, lost: 0.05 },
    { processes: 2 },
    { processes: 4 },
    { processes: 8 },
    { processes: 16 },
    { processes: 8, routing: 'by flow' },
    { processes: 4, delayMs: 60 },
    { processes: 4, skewMs: 3_600_000 },
  ]

  it.each(byWidth(few, [...few, ...more]))('are as fair as one process: %o', (settings) => {
    const { mean, worst, failed, served } = means(settings)
    expect(mean).toBeGreaterThan(one.mean - 0.02)
    expect(worst).toBeGreaterThan(one.worst - 0.05)
    expect(failed).toBeLessThan(one.failed + 0.03)
    expect(served).toBeGreaterThan(0.98 * NOISY.capacity * (60 - SETTLED))
  })

  it('serve many clients of an interface as evenly as one process', () => {
    const crowds = [[180, 0.5] as const, [20, 10] as const]
    // In a few of many fleets the proof of the shortage comes late: what is promised is the mean.
    const seeds = byWidth([2], [1, 2, 3, 4, 5, 6])
    const sumOf = (settings: Partial<FleetSettings>) => {
      const fleets = seeds.map((seed) => noisy({ ...settings, crowds, seconds: 30, seed }))
      const sum = (of: (fleet: Fleet) => number): number => fleets.reduce((sum, fleet) => sum + of(fleet), 0)
      return { quiet: sum((fleet) => fleet.quiet(SETTLED, 30).mean), failed: sum((fleet) => fleet.failedShare(0, 30)) }
    }
    const alone = sumOf({ processes: 1, shared: false })
    const fleet = sumOf({ processes: 8 })
    expect(fleet.quiet).toBeGreaterThan(alone.quiet - 0.02 * seeds.length)
    expect(fleet.failed).toBeLessThan(alone.failed + 0.02 * seeds.length)
  })

  it('say nothing while there is enough, after three questions whether others share a clock', () => {
    const fleet = noisy({ capacity: 200, seconds: 20 })
    expect(fleet.said.map(({ greeting, periods }) => [greeting?.asking, periods])).toEqual(Array(12).fill([true, []]))
    expect(fleet.reports.filter(({ atMs }) => atMs > 4_000)).toEqual([])
    expect(fleet.leases).toEqual([])
    expect(fleet.total('served', 0, 20)).toBe(fleet.total('asked', 0, 20))
  })

  it('say nothing any more five seconds after the trouble', () => {
    const fleet = new Fleet({
      ...NOISY,
      each(second, { settings }) {
        if (second === 20) settings.capacity = 1_000
      },
    }).run()
    expect(fleet.reports.some(({ atMs }) => atMs < 20_000)).toBe(true)
    expect(fleet.reports.filter(({ atMs }) => atMs > 45_000)).toEqual([])
    expect(fleet.processes.map(({ tracker }) => tracker.snapshot().sharing)).toEqual([null, null, null, null])
  })

  it('say nothing any more a minute after the last request, and share again afterwards', () => {
    const rested = (settings: Partial<FleetSettings>) =>
      means({ ...settings, each: (second, fleet) => second === 20 && fleet.rest(120), seconds: 50 }, 30, 50)
    const fleet = rested({})
    const { reports } = fleet.first
    expect(reports.some(({ atMs }) => atMs > 50_000)).toBe(true)
    expect(reports.filter(({ atMs }) => atMs > 86_000 && atMs < 140_000)).toEqual([])
    expect(fleet.mean).toBeGreaterThan(rested({ processes: 1, shared: false }).mean - 0.03)
  })

  it('do not take it for a sign of plenty, nor of little, that nobody asks', () => {
    const rates: number[] = []
    noisy({
      seconds: 21,
      each(second, fleet) {
        if (second !== 20) return
        const rate = () => fleet.processes[0]!.tracker.snapshot().fairRatePerSecond
        rates.push(rate())
        for (const seconds of [30, 100]) {
          fleet.rest(seconds)
          rates.push(rate())
        }
      },
    })
    const [before, sharing, alone] = rates as [number, number, number]
    // At most twice as much, as after one pause of a single process: without a bound, thousands of times as much.
    expect(sharing / before).toBeLessThan(2.1)
    // Nor for a sign that each has only its former part: the next requests may all be of few flows.
    expect(alone / before).toBeGreaterThan(0.9)
    expect(alone / before).toBeLessThan(2.1)
  })

  it('send eleven messages a second at most, of 1 kB up and 1 kB down, at 1000 requests a second each', () => {
    const crowds = [[18, 99] as const, [2, 1100] as const]
    const { reports, leases } = new Fleet({ ...NOISY, crowds, capacity: 3000, burst: 1500, seconds: 8 }).run()
    for (const [messages, most] of [
      [reports, 1_000],
      [leases, 1_000],
    ] as const) {
      expect(messages.length / 8 / NOISY.processes).toBeLessThanOrEqual(11)
      const bytes = messages.reduce((sum, message) => sum + message.bytes, 0)
      expect(bytes / 8 / NOISY.processes).toBeLessThan(most)
    }
  })

  it('tell the name of a flow once, and again to another arbiter', () => {
    const run = (each: NonNullable<FleetSettings['each']>) => {
      const { said } = noisy({ processes: 1, seconds: 20, each })
      const periods = said.flatMap((report) => report.periods.map((sums) => ({ ...sums, atMs: report.sentAtMs })))
      return {
        names: periods.flatMap(({ names, atMs }) => names.map(([id, name]) => ({ id, name, atMs }))),
        ids: periods.flatMap(({ flows, atMs }) => flows.map(([id]) => ({ id, atMs }))),
      }
    }
    const steady = run(() => {})
    expect(steady.names.filter(({ name }) => name === 'flow-18').length).toBeLessThan(3)
    expect(steady.names.length).toBeLessThan(steady.ids.length / 10)
    const replaced = run((second, fleet) => {
      if (second === 10) fleet.replaceArbiter()
    })
    const late = ({ atMs }: { atMs: number }): boolean => atMs > 12_000
    const again = new Set(replaced.names.filter(({ atMs }) => atMs > 10_000).map(({ id }) => id))
    expect(replaced.ids.filter(late).filter(({ id }) => !again.has(id))).toEqual([])
    expect(replaced.names.filter(late).length).toBeLessThan(replaced.ids.filter(late).length / 10)
  })

  it('say no more however many flows there are, and however long their names', () => {
    const crowds = [[2_000, 0.5] as const, [100, 20] as const]
    const settings = { ...NOISY, crowds, capacity: 1_000, burst: 500, seconds: 4 }
    const { reports, leases } = new Fleet({ ...settings, nameLength: 200 }).run()
    for (const { bytes } of [...reports, ...leases]) expect(bytes).toBeLessThan(8_192)
    expect(
      new Fleet({ ...settings, nameLength: 300 })
        .run()
        .said.flatMap(({ periods }) => periods)
        .flatMap(({ flows }) => flows),
    ).toEqual([])
  })

  it.runIf(byWidth(false, true))('hear of flows that are known elsewhere as soon, however seldom they report', () => {
    const crowds = [
      [950, 0.8],
      [50, 30],
    ] as const
    const service = { capacity: 1000, burst: 100, crowds, processes: 16, periodMs: 250, seconds: 16 }
    const one = new Fleet({ ...service, processes: 1, shared: false }).run()
    const { mean } = new Fleet(service).run().quiet(4, 16)
    // If no more were named in a long period than in a short one, it would be a third less.
    expect(mean).toBeGreaterThan(one.quiet(4, 16).mean - 0.12)
  })

  it('say with how many they share, and which part is theirs', () => {
    const fleet = noisy({ seconds: 30, routing: 'skewed' })
    const all = fleet.processes.map(({ tracker }) => tracker.snapshot().sharing!)
    expect(all.map(({ members }) => members)).toEqual([4, 4, 4, 4])
    expect(all.reduce((sum, { part }) => sum + part, 0)).toBeCloseTo(1, 1)
    expect(all[0]!.part).toBeGreaterThan(2 * all[3]!.part)
    for (const { ageMs } of all) expect(ageMs).toBeLessThan(1_000)
    expect(new Set(all.map(({ name, arbiter }) => `${name} ${arbiter}`)).size).toBe(1)
    const { engaged, sharing } = fleet.processes[0]!.tracker.explain('flow-0')
    expect({ engaged, sharing }).toEqual({ engaged: true, sharing: all[0] })
  })
})

describe('what a process says and hears', () => {
  /** A process before a resource that serves every other request, at 100 a second. */
  const lonely = (options: { name?: string } = {}, sent: () => unknown = () => {}) => {
    const clock = manualClock()
    const joined: string[] = []
    const reports: ClockReport[] = []
    let hear: (lease: string) => void = () => {}
    const link: ClockLink = {
      join(name, listen) {
        joined.push(name)
        hear = listen
        return (report) => {
          reports.push(unpackReport(report)!)
          return sent()
        }
      },
    }
    const tracker = new FairTracker({ clock, shared: { link, ...options } })
    const ask = (requests: number, failing = 2) => {
      for (let i = 1; i <= requests; i++) {
        clock.advance(10)
        if (tracker.register('somebody')) tracker.report('somebody', i % failing === 0 ? 'failure' : 'success')
      }
    }
    return { clock, joined, reports, tracker, ask, hear: (lease: ClockLease) => hear(packLease(lease)) }
  }

  it('goes on where a link gives promises that reject: the process would end', async () => {
    const { reports, ask } = lonely({}, () => Promise.reject(new Error('no broker')))
    ask(1_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect(reports.length).toBeGreaterThan(1)
  })

  it('asks once a second while nobody answers, and decides by itself', () => {
    const { ask, reports, tracker } = lonely()
    ask(1_000)
    // And a question before the first failures.
    expect(reports.length).toBeGreaterThanOrEqual(10)
    expect(reports.length).toBeLessThanOrEqual(11)
    expect(reports.every(({ periods, greeting }) => periods.length === 0 && greeting?.following === false)).toBe(true)
    expect(tracker.snapshot().sharing).toBeNull()
  })

  it('asks ever less often, once a minute in the end, where a few requests in a hundred fail', () => {
    const { ask, reports } = lonely()
    ask(30_000, 40)
    const seconds = reports.map(({ sentAtMs }) => Math.round((sentAtMs - reports[0]!.sentAtMs) / 1_000))
    expect(seconds).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
    expect(reports.every(({ greeting }) => greeting?.asking === true)).toBe(true)
  })

  it('shares under the name of the resource, and of the parts of the service', () => {
    const { joined, tracker } = lonely({ name: 'orders' })
    tracker.another('reports')
    expect(joined).toEqual(['orders', 'orders/reports'])
  })

  it('shares with no clock of another name: no resource has the name of a gate, or of one of another gate', () => {
    const names = ['x', 'x/a', 'x%2Fa', 'x/a/b', 'a/b']
    const joined = names.flatMap((name) => {
      const one = lonely({ name })
      for (const resource of ['a', 'b', 'a/b', 'a%2Fb']) one.tracker.another(resource)
      return one.joined
    })
    expect(new Set(joined).size).toBe(joined.length)
    expect(joined.slice(0, 3)).toEqual(['x', 'x/a', 'x/b'])
    expect(joined).toContain('x%2Fa')
  })

  it('a link that throws is one that loses what it is given', () => {
    const clock = manualClock()
    let said = 0
    const send = () => {
      said++
      throw new Error('the socket is closed')
    }
    const tracker = new FairTracker({ clock, shared: { link: { join: () => send } } })
    for (let i = 0; i < 500; i++) {
      clock.advance(10)
      if (tracker.register('somebody')) tracker.report('somebody', i % 2 === 0 ? 'success' : 'failure')
    }
    expect(said).toBeGreaterThan(0)
  })

  it('shares under the name of its gate, be it the default, where that has a fleet', () => {
    const joined: string[] = []
    const fleet: ClockLink = {
      join(name) {
        joined.push(name)
        return () => {}
      },
    }
    for (const options of [
      {},
      { name: 'gate' },
      { name: 'orders' },
      { fair: { shared: { name: 'own', link: fleet } } },
    ])
      createGate({ fleet, ...options })
    expect(joined).toEqual(['gate', 'gate', 'orders', 'own'])
  })

  it('listens to nobody whom it did not ask', () => {
    const { ask, hear, reports, tracker } = lonely()
    ask(150)
    const { belief } = reports[0]!.greeting!
    const times = { sentAtMs: 0, heardAtMs: 0, atMs: 0 }
    const lease = {
      arbiter: 'x',
      periodMs: 100,
      period: 1e9,
      belief,
      members: 9,
      part: 0.1,
      heard: 0,
      flows: [],
      ...times,
    }
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

describe('what is no report, and no lease', () => {
  const told: ClockLease = {
    arbiter: 'one',
    periodMs: 100,
    period: 12,
    belief: { ...new SharedFairClock(12, 0.02, 0).belief, time: 123.456 },
    members: 3,
    part: 0.25,
    heard: 11,
    sentAtMs: 1.1,
    heardAtMs: 2.2,
    atMs: 3.3,
    flows: [['some "flow"\n', 123.456, 7]],
  }
  const reports = noisy({ processes: 2, seconds: 12 }).said
  const greeting = reports.find((report) => report.greeting?.asking === false)!
  const full = reports.find(({ periods }) => periods.some(({ flows }) => flows.length > 0))!
  /** The same with one character replaced, left out or doubled. */
  function* broken(text: string): Generator<string> {
    for (let at = 0; at < text.length; at++) {
      const [before, after] = [text.slice(0, at), text.slice(at + 1)]
      for (const other of ['', '!', '$', 'M', '~', '"', ' ', '\n', '\u0000', text[at]! + text[at]])
        yield before + other + after
      yield before
    }
  }

  it('is what was packed, as text', () => {
    expect(unpackReport(packReport(full))).toEqual(full)
    for (const text of [undefined, null, '', 'x', '[]', '{}', '[2]', `"${'x'.repeat(1e6)}"`]) {
      expect(unpackReport(text)).toBeUndefined()
      expect(unpackLease(text)).toBeUndefined()
    }
  })

  it('is no event of any kind: all are kept', () => {
    const letIn = 60
    const outcomes: Omit<Ended, 'letIn'> = { success: [3, 3.5], failure: [2, 7], ignored: [1, 1], expected: 0.25 }
    const none: Omit<Ended, 'letIn'> = { success: [0, 0], failure: [0, 0], ignored: [0, 0], expected: 0 }
    const slots: SlotSums[] = [
      { slot: 60, letIn: [5, 5], refused: [0, 0], known: 4, ahead: 3, strained: 0, settled: 0, ended: [] },
      { slot: 61, letIn: [5, 12.5], refused: [4, 4], known: 9, ahead: 4, strained: 2, settled: -1.5, ended: [] },
      {
        slot: 63,
        letIn: [0, 0],
        refused: [0, 0],
        known: 0,
        ahead: 0,
        strained: 0,
        settled: 0,
        ended: [{ letIn, ...outcomes }],
      },
      { slot: 58, letIn: [0, 0], refused: [7, 7], known: 7, ahead: 7, strained: 0, settled: 2, ended: [] },
      { slot: 64, letIn: [1, 1], refused: [0, 0], known: 1, ahead: 0, strained: 0, settled: 0, ended: [] },
    ]
    const two: Ended[] = [
      { letIn: 64, ...none, success: [1, 1] },
      { letIn: 12, ...none, ignored: [1, 1] },
    ]
    const report = {
      member: 'one',
      sentAtMs: 12.3,
      periods: [
        {
          period: 12,
          slots: [...slots, { ...slots[4]!, ended: two }],
          names: [[1023, 'a']],
          flows: [[1023, -0.25, 3, 7]],
        },
        { period: 13, slots: [], names: [], flows: [[0, 0, 1.5, 1.5]] },
      ],
    } satisfies ClockReport
    expect(unpackReport(packReport(report))).toEqual(report)
  })

  it('is a text of any other version', () => {
    const [report, lease] = [packReport(full), packLease(told)]
    expect([unpackReport(report), unpackLease(lease)]).toEqual([full, told])
    const older = '[4,"0e537b2dad1a",19400,0,[]]'
    for (const version of ['!', '&', '(', '~', '+!', ''])
      for (const text of [report, lease]) {
        const other = version + text.slice(1)
        expect([unpackReport(other), unpackLease(other)]).toEqual([undefined, undefined])
      }
    expect([unpackReport(older), unpackLease(`[4,1,1,1,1,1]\n${older}`)]).toEqual([undefined, undefined])
  })

  it('harms no arbiter: it hears the next report as if nothing had been', () => {
    const arbiter = new ClockArbiter()
    for (const report of [greeting, full])
      for (const other of broken(packReport(report)))
        for (const lease of arbiter.hear(other, 1_000).values()) expect(unpackLease(lease)).toBeDefined()
    const another = new ClockArbiter()
    const lease = another.hear(packReport(greeting), 10_000).get(greeting.member)
    expect(unpackLease(lease)).toMatchObject({ members: 1 })
  })

  it('is not counted, however large its numbers', () => {
    const slot = full.periods.flatMap(({ slots }) => slots).find(({ letIn }) => letIn[0] > 0)!
    const arbiter = new ClockArbiter()
    arbiter.hear(packReport(greeting), 10_000)
    const period = {
      period: 100,
      slots: [{ ...slot, letIn: [1e7, 1e7] satisfies [number, number] }],
      names: [],
      flows: [],
    }
    const report = packReport({ member: greeting.member, sentAtMs: 0, periods: [period] })
    expect([...arbiter.hear(report, 10_000)]).toEqual([])
  })
})
