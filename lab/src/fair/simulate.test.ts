import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { noControl } from './controller.js'
import { measure } from './measures.js'
import { supplyOf } from './resource.js'
import type { Scenario } from './scenario.js'
import { simulate } from './simulate.js'

const EVEN: Scenario = {
  name: 'even',
  seconds: 60,
  resource: { kind: 'bucket', rate: 10, burst: 10 },
  crowds: [
    { name: 'light', flows: 4, rate: 1 },
    { name: 'heavy', flows: 1, rate: 36 },
  ],
}

describe('simulate', () => {
  it('serves what the bucket has, and what it held at first', () => {
    const run = simulate(EVEN, noControl, 1)
    const served = run.served.reduce((sum, cost) => sum + cost)
    expect(served).toBeGreaterThan(607)
    expect(served).toBeLessThanOrEqual(610)
    expect(run.admitted).toBe(run.arrivals.count)
    expect(run.failed).toBe(run.admitted - served)
  })

  it('follows a capacity that changes, and is gone', () => {
    const stepped = {
      ...EVEN,
      steps: [
        { at: 20, times: 0 },
        { at: 40, times: 2 },
      ],
    }
    const { served } = simulate(stepped, noControl, 1)
    const byWindow = Array.from({ length: 6 }, (_, w) => served.filter((_, i) => i % 6 === w).reduce((a, b) => a + b))
    expect(byWindow[0]! + byWindow[1]!).toBeCloseTo(210, -1)
    expect(byWindow[2]! + byWindow[3]!).toBeLessThan(11)
    expect(byWindow[4]! + byWindow[5]!).toBeCloseTo(400, -1)
  })

  it('keeps a worker of a pool busy until its work is done, as Erlang’s formula says', () => {
    const pool: Scenario = {
      name: 'pool',
      seconds: 400,
      resource: { kind: 'pool', workers: 3, busy: 0.5 },
      crowds: [{ name: 'flow', flows: 10, rate: 0.6 }],
    }
    const { failed, admitted } = simulate(pool, noControl, 1)
    // Offered 3 to 3 workers: 4.5 / (1 + 3 + 4.5 + 4.5).
    expect(failed / admitted).toBeCloseTo(4.5 / 13, 1)
  })

  it('lets as many wait for a worker as the line holds, and for as long as they will', () => {
    const waits = (line: number, patience?: number): number[] => {
      const random = seededRandom(1)
      const shape = { kind: 'pool', workers: 2, busy: 1, line, ...(patience !== undefined && { patience }) } as const
      const supply = supplyOf({ ...EVEN, resource: shape }, random)
      return Array.from({ length: 6 }, () => supply.take(0, 1)).map(({ served, after }) => (served ? after : -after))
    }
    const [first, second, third, fourth, fifth] = waits(2)
    // A waiting request begins when the first of those before it ends; a request beyond the queue does not wait.
    expect(third).toBeGreaterThan(Math.min(first!, second!))
    expect(fourth).toBeGreaterThan([first!, second!, third!].sort((x, y) => x - y)[1]!)
    expect(fifth).toBe(-0)
    // A request that would wait longer fails at that time.
    const start = Math.min(first!, second!)
    expect(waits(4, start - 1e-9).slice(2)).toEqual([1, 1, 1, 1].map(() => -(start - 1e-9)))
    expect(waits(4, start)[2]).toBe(third)
  })

  it('a line of M/M/2/6 turns away as many as the formula says', () => {
    const line: Scenario = {
      name: 'line',
      seconds: 20_000,
      resource: { kind: 'pool', workers: 2, busy: 0.5, line: 4 },
      crowds: [{ name: 'flow', flows: 10, rate: 0.4 }],
    }
    const { failed, admitted } = simulate(line, noControl, 1)
    // Offered 4 a second to 4 a second: 1, 1, then halves of the load: states 1, 2, 2, 2, 2, 2, 2.
    expect(failed / admitted).toBeCloseTo(2 / 13, 2)
  })

  it('reports late, out of order, sometimes never, and with a clock that jumps', () => {
    const order: number[] = []
    const clocks: number[] = []
    const scenario: Scenario = {
      ...EVEN,
      reports: { delay: 0.5, spread: 1, lost: 0.2 },
      jumps: [
        { at: 30, by: 100 },
        { at: 40, by: -50 },
      ],
    }
    const run = simulate(
      scenario,
      (_, clock) => ({
        admit: () => clocks.push(clock()) > 0,
        report: (request) => order.push(request),
      }),
      1,
    )
    expect(order).not.toEqual(order.toSorted((x, y) => x - y))
    expect(new Set(order).size).toBe(order.length)
    expect(order.length / run.admitted).toBeCloseTo(0.8, 1)
    const steps = clocks.slice(1).map((at, i) => at - clocks[i]!)
    expect(Math.max(...steps)).toBeGreaterThan(100_000)
    expect(Math.min(...steps)).toBeLessThan(-49_000)
    expect(clocks.at(-1)! - clocks[0]!).toBeCloseTo(110_000, -4)
  })
})

describe('measure', () => {
  it('sees that without control the loud have it all', () => {
    const found = measure(EVEN, simulate(EVEN, noControl, 1))
    expect(found.jain).toBeLessThan(0.5)
    expect(found.goodMean).toBeCloseTo(0.25, 1)
    expect(found.utilisation).toBeGreaterThan(0.99)
    expect(found.failures).toBeCloseTo(0.75, 1)
    expect(found.refused).toBe(0)
    expect(found.recovery).toBeNaN()
  })

  it('sees that an exact allocation is fair, and which flows are refused without need', () => {
    const due = [1, 1, 1, 1, 6]
    const spent = [0, 0, 0, 0, 0]
    const found = measure(
      EVEN,
      simulate(
        EVEN,
        ({ flow, at }) => ({
          admit: (request) =>
            spent[flow[request]!]! < due[flow[request]!]! * (at[request]! + 1) && ++spent[flow[request]!]! > 0,
          report: () => {},
        }),
        1,
      ),
    )
    expect(found.jain).toBeGreaterThan(0.98)
    expect(found.windowed).toBeGreaterThan(0.98)
    const calm = { ...EVEN, crowds: EVEN.crowds.slice(0, 1) }
    const refusing = simulate(calm, () => ({ admit: (request) => request !== 200, report: () => {} }), 1)
    expect(measure(calm, refusing)).toMatchObject({ needless: 1, refused: 1 / refusing.arrivals.count })
    expect(measure(calm, refusing).recovery).toBe(refusing.arrivals.at[200])
  })

  it('sees starving during a surge that the whole run hides', () => {
    const surge: Scenario = {
      ...EVEN,
      crowds: [
        { name: 'light', flows: 4, rate: 2 },
        { name: 'heavy', flows: 1, rate: 100, between: [20, 40] },
      ],
    }
    const found = measure(surge, simulate(surge, noControl, 1))
    expect(found.windowed).toBeLessThan(found.jain - 0.1)
  })
})
