import type { MakeController } from './controller.js'
import type { Scenario } from './scenario.js'
import { type Run, simulate, WINDOW } from './simulate.js'

/** A part of all requests fails for two minutes, regardless of load; then the recovery is measured. */
const FROM = 30
const TO = 150
const SECONDS = 180
const CAPACITY = 100

/** Served, as a part of the cost that could have been served. */
export interface Coped {
  /** During the failures. */
  readonly during: number
  /** In the half minute after. */
  readonly after: number
}

/** Cost served while a share of requests fails for reasons other than load: 40 a second are asked, or 150. */
export function copedWith(share: number, isOverload: boolean, make: MakeController, seed: number): Coped {
  const run = simulate(scenarioOf(share, isOverload), make, seed)
  return { during: servedBetween(run, FROM, TO, share), after: servedBetween(run, TO, SECONDS, 0) }
}

function servedBetween({ arrivals, windows, asked, served }: Run, from: number, to: number, share: number): number {
  let [most, got] = [0, 0]
  for (let window = from / WINDOW; window < to / WINDOW; window++) {
    let all = 0
    for (const flow of arrivals.flows.keys()) {
      all += asked[flow * windows + window]!
      got += served[flow * windows + window]!
    }
    most += Math.min(all * (1 - share), CAPACITY * WINDOW)
  }
  return got / most
}

function scenarioOf(share: number, isOverload: boolean): Scenario {
  return {
    name: 'failures that have nothing to do with load',
    seconds: SECONDS,
    resource: { kind: 'bucket', rate: CAPACITY, burst: 20 },
    crowds: [{ name: 'light', flows: 20, rate: 2 }, ...(isOverload ? [{ name: 'heavy', flows: 5, rate: 22 }] : [])],
    unrelated: { share, between: [FROM, TO] },
  }
}
