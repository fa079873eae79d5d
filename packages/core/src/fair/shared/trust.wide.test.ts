import { describe, expect, it } from 'vitest'
import { Fleet, type FleetSettings } from './fixtures/fleet.js'
import type { Amount, ClockReport, Ended, PeriodSums, ReportedPeriod, SlotSums } from './report.js'
import { consensus, ReportedOutcomes, typical } from './trust.js'

/** Eighteen quiet flows and two loud ones before a resource that serves 100 a second. */
const NOISY: FleetSettings = {
  capacity: 100,
  burst: 100,
  crowds: [
    [18, 3.33],
    [2, 50],
  ],
  processes: 5,
  seconds: 60,
}

/** A modification of the last process's report. */
type Lie = (report: ClockReport) => ClockReport
const periods =
  (of: (sums: ReportedPeriod) => ReportedPeriod): Lie =>
  (report) => ({ ...report, periods: report.periods.map(of) })
const slots = (of: (slot: SlotSums) => SlotSums): Lie => periods((sums) => ({ ...sums, slots: sums.slots.map(of) }))

const LIES: Record<string, Lie> = {
  'lets in a hundred times as much, and all of it is served': slots((slot) => ({
    ...slot,
    letIn: [2_000, 2_000],
    ended: [{ letIn: slot.slot, success: [2_000, 2_000], failure: [0, 0], ignored: [0, 0], expected: 0 }],
  })),
  'fails always': slots((slot) => ({
    ...slot,
    ended: slot.ended.map(({ letIn, success: [n, cost], failure }) => {
      return { letIn, success: [0, 0], failure: [n + failure[0], cost + failure[1]], ignored: [0, 0], expected: 0 }
    }),
  })),
  'fails always, and often': slots((slot) => ({
    ...slot,
    letIn: [5_000, 5_000],
    ended: [{ letIn: slot.slot, success: [0, 0], failure: [5_000, 5_000], ignored: [0, 0], expected: 0 }],
  })),
  'fails of what it never let in': slots((slot) => ({
    ...slot,
    ended: [{ letIn: slot.slot, success: [0, 0], failure: [5_000, 5_000], ignored: [0, 0], expected: 0 }],
  })),
  'counts in another unit': slots((slot) => ({
    ...slot,
    letIn: [slot.letIn[0], 1e9 * slot.letIn[1]],
    refused: [slot.refused[0], 1e9 * slot.refused[1]],
    ended: slot.ended.map(({ letIn, success, failure }) => {
      return {
        letIn,
        success: [success[0], 1e9 * success[1]],
        failure: [failure[0], 1e9 * failure[1]],
        ignored: [0, 0],
        expected: 0,
      }
    }),
  })),
  'admits and refuses at a cost without end': slots((slot) => ({
    ...slot,
    letIn: [slot.letIn[0], 1e12 * slot.letIn[1]],
    refused: [slot.refused[0], 1e12 * slot.refused[1]],
  })),
  'refuses without end': slots((slot) => ({ ...slot, refused: [20_000, 20_000] })),
  'refuses without end, at a cost without end': slots((slot) => ({ ...slot, refused: [20_000, 1e15] })),
  'refuses one at a cost without end': slots((slot) => ({ ...slot, refused: [1, 1e15] })),
  'refuses without end, at no cost': slots((slot) => ({ ...slot, refused: [20_000, 0] })),
  'tells of outcomes at a cost without end': slots((slot) => ({
    ...slot,
    ended: slot.ended.map((row) => ({ ...row, success: [row.success[0], 1e15] })),
  })),
  'took much more than it was charged': slots((slot) => ({ ...slot, settled: 1e12 })),
  'gave back much more than it was charged': slots((slot) => ({ ...slot, settled: -1e12 })),
  'is strained by nothing': slots((slot) => ({ ...slot, strained: 20_000, known: 20_000, ahead: 20_000 })),
  'charges the quiet flows of others': periods((sums) => ({
    ...sums,
    names: Array.from({ length: 16 }, (_, i) => [i, `flow-${i}`] as const),
    flows: Array.from({ length: 16 }, (_, i) => [i, 1e9, 1e9, 1e12] as const),
  })),
  'tells of times long ago': slots((slot) => ({
    ...slot,
    slot: slot.slot - 1e6,
    ended: slot.ended.map((row) => ({ ...row, letIn: -1e9 })),
  })),
  'tells of times to come': slots((slot) => ({
    ...slot,
    slot: slot.slot + 1e6,
    ended: slot.ended.map((row) => ({ ...row, letIn: 1e9 })),
  })),
  'believes that there is no end to it': (report) =>
    report.greeting === undefined
      ? report
      : {
          ...report,
          greeting: {
            ...report.greeting,
            belief: { ...report.greeting.belief, open: false, deliverable: 1e14, rate: 1e14 },
          },
        },
  'was told that there is no end to it': (report) =>
    report.greeting === undefined
      ? report
      : {
          ...report,
          greeting: { ...report.greeting, following: true, belief: { ...report.greeting.belief, rate: 1e15 } },
        },
  'believes that there is nothing': (report) =>
    report.greeting === undefined
      ? report
      : {
          ...report,
          greeting: {
            ...report.greeting,
            belief: { ...report.greeting.belief, open: false, deliverable: 0, rate: 1e-9 },
          },
        },
}

describe('a process that says what is not so', () => {
  /** Means of six runs: runs differ by more than the harm of some lies. */
  const run = (settings: Partial<FleetSettings> = {}) => {
    const fleets = [1, 2, 3, 4, 5, 6].map((seed) => new Fleet({ ...NOISY, seed, ...settings }).run())
    const mean = (of: (fleet: Fleet) => number): number =>
      fleets.reduce((sum, fleet) => sum + of(fleet), 0) / fleets.length
    return {
      served: mean((fleet) => fleet.total('served', 20, 60)),
      quiet: mean((fleet) => fleet.quiet(20, 60).mean),
      failed: mean((fleet) => fleet.failedShare(20, 60)),
    }
  }
  const honest = run()
  /** A fifth, and what chance adds to the mean of so few runs. */
  const share = 1 / NOISY.processes + 0.03

  it.each(Object.entries(LIES))('harms the others by about its share at most: it %s', (_name, lie) => {
    const { served, quiet, failed } = run({ lie })
    expect(served).toBeGreaterThan((1 - share) * honest.served)
    expect(quiet).toBeGreaterThan((1 - share) * honest.quiet)
    expect(failed).toBeLessThan(share)
  })
})

describe('outcomes, settlements and flows that a process tells of', () => {
  const told = (slot: Partial<SlotSums>, flows: PeriodSums['flows'] = []): PeriodSums => {
    const plain = { slot: 0, letIn: [10, 10], refused: [0, 0], known: 0, ahead: 0, strained: 0, settled: 0, ended: [] }
    return { period: 0, slots: [{ ...plain, ...slot } as SlotSums], flows }
  }

  it('are no more than what it has let in', () => {
    const row = (requests: number): Ended => {
      return { letIn: 0, success: [0, 0], failure: [requests, requests], ignored: [0, 0], expected: 0 }
    }
    const { ended, settled, known } = new ReportedOutcomes().possible(
      told({ ended: [row(10), row(5_000)], settled: -1e9, known: 5_000 }),
    ).slots[0]!
    expect({ ended, known }).toEqual({ ended: [row(10)], known: 10 })
    expect(settled).toBeCloseTo(0)
  })

  it('are charged as much as goes with that, and no flow is put ahead of the clock', () => {
    const [flow] = new ReportedOutcomes().flows(told({}, [['somebody', 1e9, 1e9, 1e12]]), undefined)
    expect(flow).toEqual(['somebody', 0, 100, 160])
  })
})

describe('costs and refusals that a process tells of', () => {
  /** A process that admits and refuses as many requests, at this cost each. */
  const process = (requests: number, cost: number, refused = requests, refusal = cost) => {
    const counts = { slot: 0, known: 0, ahead: 0, strained: 0, settled: 0 }
    const admitted: Amount = [requests, requests * cost]
    const row: Ended = { letIn: 0, success: admitted, failure: [0, 0], ignored: [0, 0], expected: 0 }
    const slot: SlotSums = { ...counts, letIn: admitted, refused: [refused, refused * refusal], ended: [row] }
    const sums: PeriodSums = { period: 0, slots: [slot], flows: [] }
    const claims = new ReportedOutcomes()
    claims.add(sums)
    return { claims, sums }
  }
  const believed = (liar: ReturnType<typeof process>, ...others: ReturnType<typeof process>[]): SlotSums =>
    liar.claims.within(liar.sums, typical([liar, ...others].map(({ claims }) => claims))!).slots[0]!
  const honest = process(10, 1)

  it('count as four times those of most, each kind by itself', () => {
    const { letIn, refused, ended } = believed(process(10, 1e12), honest, honest)
    expect([letIn[1], refused[1], ended[0]!.success[1]].map(Math.round)).toEqual([40, 40, 40])
    expect(believed(process(10, 1, 1, 1e15), honest, honest)).toMatchObject({ letIn: [10, 10], refused: [1, 4] })
    expect(believed(process(10, 1, 20_000), honest, honest).refused).toEqual([80, 80])
  })

  it('are believed up to that, and refusals as far as it admits as many', () => {
    for (const one of [process(10, 3.9), process(10, 1, 75), process(1_000, 1, 1_000)])
      expect(believed(one, honest, honest)).toBe(one.sums.slots[0])
  })

  it('cannot be compared among two', () => {
    expect(typical([process(10, 1e12).claims, honest.claims])).toBeUndefined()
  })

  it('of outcomes are no more than those of the admissions, and of those before the first report', () => {
    const claims = new ReportedOutcomes()
    const { slots } = process(10, 1).sums
    const dear = slots.map((slot) => ({ ...slot, ended: slot.ended.map((row) => ({ ...row, success: [10, 1e15] })) }))
    const told = Array.from({ length: 3 }, () => claims.possible({ period: 0, slots: dear as never, flows: [] }))
    expect(told.map((sums) => sums.slots[0]!.ended[0]!.success[1])).toEqual([210, 10, 10])
  })
})

describe('what most processes see', () => {
  /** A process with this share of failures. */
  const failing = (share: number): ReportedOutcomes => {
    const claims = new ReportedOutcomes()
    const [failed, served] = [Math.round(1_000 * share), Math.round(1_000 * (1 - share))]
    const ended: Ended = {
      letIn: 0,
      success: [served, served],
      failure: [failed, failed],
      ignored: [0, 0],
      expected: 0,
    }
    const slot: SlotSums = {
      slot: 0,
      letIn: [1_000, 1_000],
      refused: [0, 0],
      known: 0,
      ahead: 0,
      strained: 0,
      ended: [ended],
      settled: 0,
    }
    claims.add(claims.possible({ period: 0, slots: [slot], flows: [] }))
    return claims
  }
  const isStrange = (share: number, ...others: readonly number[]): boolean | undefined => {
    const one = failing(share)
    const most = consensus([one, ...others.map(failing)])
    if (most === undefined) return undefined
    for (let period = 0; period < 20; period++) one.isStrange(most)
    return one.isStrange(most)
  }

  it('is another resource than that of a process whose share of failures differs by far more than 0.3', () => {
    expect(isStrange(0.5, 0.1, 0.1)).toBe(true)
    expect(isStrange(0.35, 0.1, 0.1)).toBe(false)
    expect(isStrange(0.1, 0.5, 0.5)).toBe(true)
  })

  it('is not known of two', () => {
    expect(isStrange(0.9, 0)).toBeUndefined()
  })
})

describe('a process whose own way to the resource is broken', () => {
  it('is left to itself, and the others go on as if it had none', () => {
    const members: unknown[] = []
    const fleet = new Fleet({
      ...NOISY,
      broken: 4,
      each: (second, { processes }) => {
        if (second === 30) members.push(...processes.map(({ tracker }) => tracker.snapshot().sharing?.members))
      },
    }).run()
    expect(members).toEqual([4, 4, 4, 4, undefined])
    expect(fleet.total('served', 20, 60)).toBeGreaterThan(0.95 * 40 * NOISY.capacity)
  })
})
