import { readFileSync } from 'node:fs'
import { FairTracker } from '@fairlead/core'
import { seededRandom } from '@fairlead/core/testing'
import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { maxMin } from '../max-min.js'
import { arrivals, jain, type MakeTracker, plainDraws, publishedDraws, type Scenario, serve } from './evaluator.js'
import { type GoRandomState, goRandom } from './go-random.js'

interface PublishedRun {
  successes_by_client: number[]
  failures: number
  throttled: number
  entitlement_jain: number
}
interface PublishedScenario extends Scenario {
  name: string
  go_rng: GoRandomState
  events_checksum: string
  requests: number
  service_capacity: number
  entitlement_by_client: number[]
  with_fair: PublishedRun
  without_fair: PublishedRun
}

const published: { scenarios: PublishedScenario[] } = JSON.parse(
  readFileSync(new URL('./fixtures/eval.json', import.meta.url), 'utf8'),
)
const SCENARIOS = byWidth(published.scenarios.slice(0, 1), published.scenarios)

function entitlementJain(served: readonly number[], entitlements: readonly number[]): number {
  return jain(served.map((count, client) => count / entitlements[client]!))
}

describe.each(SCENARIOS)('the published evaluator, $name', (scenario) => {
  const requests = arrivals(scenario, goRandom(scenario.go_rng))

  it('has the published arrivals', () => {
    let checksum = 0n
    for (const { ns, client } of requests)
      checksum = BigInt.asUintN(64, checksum * 1000003n + BigInt(ns) + BigInt(client))
    expect(requests).toHaveLength(scenario.requests)
    expect(checksum.toString(16).padStart(16, '0')).toBe(scenario.events_checksum)
  })

  it('has the published entitlements', () => {
    const demands = scenario.entitlement_by_client.map(() => 0)
    for (const { client } of requests) demands[client]!++
    const entitlements = maxMin(demands, scenario.service_capacity)
    entitlements.forEach((share, client) => {
      expect(share).toBeCloseTo(scenario.entitlement_by_client[client]!, 6)
    })
  })

  it('serves every client what it got without control', () => {
    const served = serve(scenario, requests)
    expect(served.successesByClient).toEqual(scenario.without_fair.successes_by_client)
    expect(served.failures).toBe(scenario.without_fair.failures)
  })

  it('serves every client exactly what the published library served it', () => {
    const served = serve(scenario, requests, publishedDraws(goRandom(scenario.go_rng)))
    expect(served.successesByClient).toEqual(scenario.with_fair.successes_by_client)
    expect(served.failures).toBe(scenario.with_fair.failures)
    expect(served.throttled).toBe(scenario.with_fair.throttled)
    expect(entitlementJain(served.successesByClient, scenario.entitlement_by_client)).toBeCloseTo(
      scenario.with_fair.entitlement_jain,
      9,
    )
  })
})

/**
 * Lower bounds for the fair clock; the published rule reached an index of 0.667, 0.978 and 0.994 and served the worst
 * of the first class 0.585, 0.441 and 0.777. Over a whole run with a surge the index says little: it entitles the
 * surging clients to capacity without demand before and after.
 */
const goals = {
  api_noisy_neighbors: { jain: 0.985, utilization: 0.99, worst: 0.85 },
  flash_crowd: { jain: 0.995, utilization: 0.99, worst: 0.83 },
  batch_surge: { jain: 0.975, utilization: 0.91, worst: 0.9 },
} as const

describe.each(SCENARIOS)('the fair clock, in the published evaluator, $name', (scenario) => {
  const requests = arrivals(scenario, goRandom(scenario.go_rng))

  it.each(byWidth([1], [1, 2, 3]))(
    'serves the modest, and leaves no more unused than the published rule (seed %i)',
    (seed) => {
      const makeTracker: MakeTracker = (_, clock, random) => new FairTracker({ clock, random })
      const { successesByClient } = serve(scenario, requests, plainDraws(seededRandom(seed)), makeTracker)
      const ratios = successesByClient.map((count, client) => count / scenario.entitlement_by_client[client]!)
      const total = successesByClient.reduce((sum, count) => sum + count, 0)
      const goal = goals[scenario.name as keyof typeof goals]
      expect(jain(ratios)).toBeGreaterThanOrEqual(goal.jain)
      expect(total / scenario.service_capacity).toBeGreaterThanOrEqual(goal.utilization)
      expect(Math.min(...ratios.slice(0, scenario.classes[0]!.clients))).toBeGreaterThanOrEqual(goal.worst)
    },
  )
})

/** Ranges of the published rule over 50 seeds of its own. */
const bands = {
  api_noisy_neighbors: { jain: [0.639, 0.7], utilization: [0.9995, 1], worst: [0.48, 0.63] },
  flash_crowd: { jain: [0.974, 0.981], utilization: [0.99, 1], worst: [0, 1] },
  batch_surge: { jain: [0.993, 0.998], utilization: [0.887, 0.9005], worst: [0.65, 0.81] },
} as const

describe.each(SCENARIOS)('other seeds, $name', (scenario) => {
  it.each(byWidth([1], [1, 2, 3]))('stays within the bands of the published rule (seed %i)', (seed) => {
    const random = seededRandom(seed)
    const requests = arrivals(scenario, random)
    const { successesByClient } = serve(scenario, requests, plainDraws(random))
    const demands = successesByClient.map(() => 0)
    for (const { client } of requests) demands[client]!++
    const { capacity_per_s, burst_tokens, classes } = scenario
    const supply = capacity_per_s * Math.max(...classes.map((c) => c.end_s)) + burst_tokens
    const entitlements = maxMin(demands, Math.min(supply, requests.length))
    const ratios = successesByClient.map((count, client) => count / entitlements[client]!)
    const total = successesByClient.reduce((sum, count) => sum + count, 0)
    const band = bands[scenario.name as keyof typeof bands]
    within(jain(ratios), band.jain)
    within(total / Math.min(supply, requests.length), band.utilization)
    within(Math.min(...ratios), band.worst)
  })
})

function within(value: number, [least, most]: readonly [number, number]): void {
  expect(value).toBeGreaterThanOrEqual(least)
  expect(value).toBeLessThanOrEqual(most)
}
