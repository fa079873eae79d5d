import type { MakeController } from './controller.js'
import type { Crowd, Scenario } from './scenario.js'
import { simulate, WINDOW } from './simulate.js'

/**
 * The aggressor asks for a third of the capacity for this time, and is then watched for as long while it asks no more
 * than the others.
 */
const LOUD_SECONDS = 60
const WATCHED_SECONDS = 60

const LIGHT: Crowd = { name: 'light', flows: 60, rate: 1 }

/** Served / asked in the watched time. */
export interface Penalty {
  /** Of the former aggressor. */
  readonly aggressor: number
  /** Of the light flows. */
  readonly light: number
}

/**
 * Service of a former aggressor that asks as little as the others after a pause; `othersStay`: other aggressors
 * continue.
 */
export function penaltyAfter(pause: number, othersStay: boolean, make: MakeController, seed: number): Penalty {
  const scenario = scenarioOf(pause, othersStay)
  const { asked, served, windows } = simulate(scenario, make, seed)
  const part = (from: number, flows: number): number => {
    let [a, s] = [0, 0]
    for (let flow = from; flow < from + flows; flow++)
      for (let window = (LOUD_SECONDS + pause) / WINDOW; window < windows; window++) {
        a += asked[flow * windows + window]!
        s += served[flow * windows + window]!
      }
    return s / a
  }
  return { aggressor: part(asked.length / windows - 1, 1), light: part(0, LIGHT.flows) }
}

function scenarioOf(pause: number, othersStay: boolean): Scenario {
  const seconds = LOUD_SECONDS + pause + WATCHED_SECONDS
  const loud: Crowd = { name: 'loud', flows: 4, rate: 30, between: [0, othersStay ? seconds : LOUD_SECONDS] }
  return {
    name: 'an aggressor that stops',
    seconds,
    resource: { kind: 'bucket', rate: 100, burst: 20 },
    crowds: [
      LIGHT,
      loud,
      { ...loud, name: 'aggressor', flows: 1, between: [0, LOUD_SECONDS] },
      { ...LIGHT, name: 'the same', flows: 1, between: [LOUD_SECONDS + pause, seconds], continues: true },
    ],
  }
}
