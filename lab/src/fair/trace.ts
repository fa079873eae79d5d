import { clockTracker, controlBy } from './controller.js'
import { spellsOf } from './entitlement.js'
import type { Scenario } from './scenario.js'
import { simulate } from './simulate.js'

/** What the fair clock knows and does in a part of a second. */
export interface Moment {
  readonly at: number
  /** What the resource really gives per second. */
  readonly capacity: number
  /** What the clock has measured; 0 until it saw a shortage. */
  readonly seen: number
  /** Cost that the clock thinks the resource has to spare. */
  readonly spare: number
  /** What a flow may have per second. */
  readonly fairRate: number
  /** Refused per second: of light flows, and of heavy ones. */
  readonly refusedLight: number
  readonly refusedHeavy: number
  /** Failed per second, of those let in. */
  readonly failed: number
}

/** 60 light flows; 5 heavy ones come at 10 s; from 40 to 70 s there is half as much. */
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
