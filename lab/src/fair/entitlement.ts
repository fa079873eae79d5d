import { type Flow, flowsOf } from './arrivals.js'
import { capacityOf, type Scenario } from './scenario.js'

/**
 * Max-min shares of `supply`: no flow gets more than its demand, and the capacity that small demands leave is divided
 * among the rest in proportion to their weights. O(n log n).
 */
export function entitlements(demands: readonly number[], weights: readonly number[], supply: number): number[] {
  const shares = demands.map(() => 0)
  const modestFirst = demands.map((_, i) => i).sort((i, j) => demands[i]! / weights[i]! - demands[j]! / weights[j]!)
  let left = supply
  let weight = weights.reduce((sum, each) => sum + each, 0)
  for (const i of modestFirst) {
    const share = Math.min(demands[i]!, weight > 0 ? (left * weights[i]!) / weight : 0)
    shares[i] = share
    left -= share
    weight -= weights[i]!
  }
  return shares
}

/** An interval of constant demand and constant capacity; per second. */
export interface Spell {
  readonly from: number
  readonly to: number
  readonly capacity: number
  /** Mean cost that each flow asks for while it is on. */
  readonly demands: readonly number[]
}

/** The spells of a scenario. Flows that come in bursts count as if they were always on. */
export function spellsOf(scenario: Scenario): Spell[] {
  const flows = flowsOf(scenario)
  const edges = [
    0,
    scenario.seconds,
    ...(scenario.steps ?? []).map(({ at }) => at),
    ...scenario.crowds.flatMap(({ between = [] }) => between),
  ]
  const times = [...new Set(edges)].filter((at) => at <= scenario.seconds).sort((x, y) => x - y)
  return times.slice(0, -1).map((from, i) => ({
    from,
    to: times[i + 1]!,
    capacity: capacityOf(scenario) * (scenario.steps?.findLast(({ at }) => at <= from)?.times ?? 1),
    demands: flows.map((flow) => demandAt(flow, from)),
  }))
}

function demandAt({ crowd, rate }: Flow, at: number): number {
  const [from, to] = crowd.between ?? [0, Number.POSITIVE_INFINITY]
  return from <= at && at < to ? rate * (crowd.cost ?? 1) : 0
}

/** Capacity between two times, without the initial store of the resource. */
export function suppliedBetween(spells: readonly Spell[], from: number, to: number): number {
  return spells.reduce(
    (sum, spell) => sum + spell.capacity * Math.max(0, Math.min(to, spell.to) - Math.max(from, spell.from)),
    0,
  )
}

/**
 * The flows that never ask for more than the fair level, so that they are entitled to their whole demand. While the
 * capacity is 0, there is no level.
 */
export function wellBehaved(scenario: Scenario): boolean[] {
  const flows = flowsOf(scenario)
  const good = flows.map(() => true)
  const weights = flows.map(({ weight }) => weight)
  for (const { capacity, demands } of spellsOf(scenario))
    if (capacity > 0)
      for (const [i, share] of entitlements(demands, weights, capacity).entries())
        if (share < demands[i]! * (1 - 1e-9)) good[i] = false
  return good
}

/** The time from which demand stays within the capacity until the end; Infinity if there is none. */
export function calmFrom(scenario: Scenario): number {
  const last = spellsOf(scenario).findLast(({ capacity, demands }) => sumOf(demands) >= capacity)
  if (last === undefined) return 0
  return last.to < scenario.seconds ? last.to : Number.POSITIVE_INFINITY
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
