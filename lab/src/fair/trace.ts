import { clockTracker, controlBy } from './controller.js'
import { spellsOf } from './entitlement.js'
import type { Scenario } from './scenario.js'
import { simulate } from './simulate.js'

/** State of the fair clock, and its refusals, in a part of a second. */
export interface Moment {
  readonly at: number
  /** The actual capacity per second. */
  readonly capacity: number
  /** The capacity that the clock has measured; 0 until the first shortage. */
  readonly seen: number
  /** Spare cost of the resource, as the clock estimates it. */
  readonly spare: number
  /** The rate of a flow's fair share, per second. */
  readonly fairRate: number
  /** Refused per second: of light flows, and of heavy ones. */
  readonly refusedLight: number
  readonly refusedHeavy: number
  /** Admitted requests that failed, per second. */
  readonly failed: number
}

/** 60 light flows; 5 heavy ones arrive at 10 s; from 40 to 70 s the capacity is half. */
export const TRACED: Scenario = {
  name: 'traced',
  seconds: 110,
  resource: { kind: 'bucket', rate: 100, burst: 50 },
  crowds: [
    { name: 'light', flows: 60, rate: 0.7 },
    { name: 'heavy', flows: 5, rate: 30, between: [10, 95] },
  ],
  steps: [
    { at: 40, times: 0.5 },
    { at: 70, times: 1 },
  ],
}

const STEP = 0.5

export function trace(scenario: Scenario, seed: number): Moment[] {
  const moments: Moment[] = []
  const spells = spellsOf(scenario)
  simulate(
    scenario,
    (arrivals, clock, trackerSeed) => {
      const tracker = clockTracker(arrivals, clock, trackerSeed)
      const controller = controlBy(tracker, arrivals)
      const counts = { light: 0, heavy: 0, failed: 0 }
      let due = STEP
      const note = (at: number): void => {
        const { capacityPerSecond, spare, fairRatePerSecond } = tracker.snapshot()
        moments.push({
          at: due,
          capacity: spells.find(({ to }) => at <= to)!.capacity,
          seen: capacityPerSecond ?? 0,
          spare,
          fairRate: fairRatePerSecond,
          refusedLight: counts.light / STEP,
          refusedHeavy: counts.heavy / STEP,
          failed: counts.failed / STEP,
        })
        counts.light = counts.heavy = counts.failed = 0
        due += STEP
      }
      return {
        admit(request) {
          const at = arrivals.at[request]!
          while (at >= due) note(at)
          const admitted = controller.admit(request)
          if (!admitted) counts[arrivals.flows[arrivals.flow[request]!]!.crowd.name === 'light' ? 'light' : 'heavy']++
          return admitted
        },
        report(request, succeeded) {
          if (!succeeded) counts.failed++
          controller.report(request, succeeded)
        },
      }
    },
    seed,
  )
  return moments
}
