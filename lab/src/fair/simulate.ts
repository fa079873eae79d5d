import { manualClock, seededRandom } from '@fairlead/core/testing'
import { Heap } from '../simulation/capacity/index.js'
import { type Arrivals, arrivalsOf } from './arrivals.js'
import type { MakeController } from './controller.js'
import { FAILED, supplyOf } from './resource.js'
import type { Scenario } from './scenario.js'

/** Length of the recorded windows of a run, in seconds. */
export const WINDOW = 10

/** Results of one run. Costs by flow and window: `[flow * windows + window]`. */
export interface Run {
  readonly arrivals: Arrivals
  readonly windows: number
  readonly asked: Float64Array
  readonly served: Float64Array
  /** Requests. */
  readonly admitted: number
  readonly failed: number
  readonly refused: number
  /** Times of refusals, in seconds; in order. */
  readonly refusedAt: Float64Array
}

interface Report {
  readonly request: number
  readonly succeeded: boolean
}

/** Runs a scenario on a manual clock. */
export function simulate(scenario: Scenario, make: MakeController, seed: number): Run {
  const arrivals = arrivalsOf(scenario, seed)
  const chance = seededRandom(seed + 0.5)
  const clock = manualClock(0)
  const controller = make(arrivals, clock, seed + 0.25)
  const supply = supplyOf(scenario, chance)
  const { delay = 0, spread = 0, lost = 0 } = scenario.reports ?? {}
  const windows = Math.ceil(scenario.seconds / WINDOW)
  const asked = new Float64Array(arrivals.flows.length * windows)
  const served = new Float64Array(asked.length)
  const refusedAt: number[] = []
  const reports = new Heap<Report>()
  const changes = changesOf(scenario)
  let admitted = 0
  let failed = 0
  let now = 0

  const moveTo = (at: number): void => {
    while (changes.length > 0 && changes[0]!.at <= at) {
      const change = changes.shift()!
      clock.advance((change.at - now) * 1_000)
      now = change.at
      if (change.jump !== undefined) clock.advance(change.jump * 1_000)
      if (change.times !== undefined) supply.scale(now, change.times)
    }
    clock.advance((at - now) * 1_000)
    now = at
  }
  const failsAnyway = (at: number): boolean => {
    const { unrelated } = scenario
    return unrelated !== undefined && isBetween(at, unrelated.between) && chance() < unrelated.share
  }
  const reportUntil = (at: number): void => {
    while (reports.least <= at) {
      moveTo(reports.least)
      const { request, succeeded } = reports.pop()
      controller.report(request, succeeded)
    }
  }

  for (let request = 0; request < arrivals.count; request++) {
    const at = arrivals.at[request]!
    const flow = arrivals.flow[request]!
    const cost = arrivals.cost[request]!
    reportUntil(at)
    moveTo(at)
    const cell = flow * windows + Math.floor(at / WINDOW)
    asked[cell]! += cost
    if (!controller.admit(request)) {
      refusedAt.push(at)
      continue
    }
    admitted++
    const { served: succeeded, after } = failsAnyway(at) ? FAILED : supply.take(at, cost)
    if (succeeded) served[cell]! += cost
    else failed++
    if (lost > 0 && chance() < lost) continue
    const late = after + delay + (spread > 0 ? spread * chance() : 0)
    if (late > 0) reports.push(at + late, { request, succeeded })
    else controller.report(request, succeeded)
  }
  return {
    arrivals,
    windows,
    asked,
    served,
    admitted,
    failed,
    refused: refusedAt.length,
    refusedAt: Float64Array.from(refusedAt),
  }
}

function isBetween(at: number, [from, to]: readonly [number, number]): boolean {
  return at >= from && at < to
}

interface Change {
  readonly at: number
  readonly times?: number
  readonly jump?: number
}

function changesOf({ steps = [], jumps = [] }: Scenario): Change[] {
  const all: Change[] = [...steps, ...jumps.map(({ at, by }) => ({ at, jump: by }))]
  return all.sort((x, y) => x.at - y.at)
}
