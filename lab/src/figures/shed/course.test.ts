import { describe, expect, it } from 'vitest'
import { none, PlainMemory, type Scenario, simulate } from '../../simulation/shed/index.js'
import { courseOf } from './course.js'

const scenario: Scenario = {
  seed: 1,
  sigma: 0.5,
  demand: [{ untilMs: 20_000, perSecond: 800 }],
  makeMemory: () => new PlainMemory(),
  makeShedder: none,
}

describe('memory over time', () => {
  it('reaches the limit as often as the process runs out, and says nothing while it is gone', () => {
    const { most, everyMs } = courseOf(scenario)
    const { outOfMemory } = simulate(scenario)
    expect(outOfMemory).toBeGreaterThan(1)
    expect(most.filter((held) => held !== undefined && held >= 1)).toHaveLength(outOfMemory)
    const first = most.findIndex((held) => held !== undefined && held >= 1)
    const gone = most.slice(first + 1, first + 5_000 / everyMs)
    expect(gone.every((held) => held === undefined)).toBe(true)
    expect(most[first + 1 + 5_000 / everyMs]).toBeLessThan(1)
  })

  it('is what the base and the requests that run come to', () => {
    const { most } = courseOf({ ...scenario, demand: [{ untilMs: 60_000, perSecond: 100 }] })
    const late = most.slice(40).map((held) => held ?? 0)
    // 100 requests a second that hold 0.002 for 1 s, above 0.3.
    expect(late.reduce((sum, held) => sum + held, 0) / late.length).toBeCloseTo(0.5, 1)
  })
})
