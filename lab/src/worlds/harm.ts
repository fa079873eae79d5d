import { maxMin } from '../simulation/max-min.js'
import { WINDOW } from './engine.js'
import { capacityBetween, type Flow, type Run } from './population.js'
import type { World } from './world.js'

/**
 * Flows with less entitlement are judged together with their neighbours, until the group is entitled to this number of
 * ordinary requests.
 */
const LEAST_DUE = 30
/** A flow is well-behaved if its fair share is at least this part of its demand. */
const WELL_BEHAVED = 0.98
/** Nothing is short while demand is at most this part of the capacity, here and in this many windows before... */
const CALM = 0.85
const BEFORE = 2
/** ...and no more than this part of it fails without control. */
const CALM_FAILURES = 0.005
const LAST_SECONDS = 30

/** Measures of a run: see docs/fair-worlds.md. `NaN`: the world has nothing to measure it by. */
export interface Measures {
  /** The unserved part of a flow's entitlement: mean over flows; 95th percentile; the worst. */
  readonly harm: number
  readonly harm95: number
  readonly harmWorst: number
  /** Cost served, relative to no control. */
  readonly served: number
  readonly good: number
  readonly jain: number
  readonly failed: number
  readonly needless: number
  readonly recovered: number
}

/** The reference for all rules in one world. */
export interface Yardstick {
  readonly world: World
  /** The run without control. */
  readonly none: Run
  /** By flow and window, its max-min share of the cost served without control. */
  readonly entitled: Float64Array
  /** Units of judgement: single flows, or several of a crowd together. */
  readonly units: readonly (readonly Flow[])[]
  /** The windows in which nothing is short. */
  readonly calm: readonly boolean[]
}

export function yardstickOf(world: World, none: Run): Yardstick {
  const entitled = entitlements(none)
  return { world, none, entitled, units: unitsOf(none, entitled), calm: calmWindows(world, none) }
}

export function judge({ world, none, entitled, units, calm }: Yardstick, run: Run): Measures {
  const { windows } = none
  const total = (column: Float64Array, unit: readonly Flow[]): number =>
    unit.reduce((all, { row }) => all + sum(column.subarray(row, row + windows)), 0)
  const harms: number[] = []
  const shares: number[] = []
  const goods: number[] = []
  for (const unit of units) {
    const share = total(entitled, unit)
    const served = total(run.served, unit)
    const asked = total(run.asked, unit)
    const due = Math.min(total(none.served, unit), share)
    if (due > 0) harms.push(Math.max(0, due - served) / due)
    if (share > 0) shares.push(served / share)
    if (asked > 0 && share >= WELL_BEHAVED * total(none.asked, unit)) goods.push(served / asked)
  }
  harms.sort((a, b) => a - b)
  const { known } = run
  const last = Math.max(0, windows - LAST_SECONDS / WINDOW)
  const hasEnded = world.endsAt !== null && world.endsAt < world.seconds - 2 * LAST_SECONDS
  return {
    harm: mean(harms),
    harm95: harms[Math.floor(0.95 * (harms.length - 1))] ?? Number.NaN,
    harmWorst: harms.at(-1) ?? Number.NaN,
    served: (sum(known.served) + sum(run.strangers.served)) / (sum(none.known.served) + sum(none.strangers.served)),
    good: mean(goods),
    jain: jain(shares),
    failed: run.failed / run.admitted,
    needless:
      sum(known.refused.filter((_, w) => calm[w])) /
      sum(known.asked.map((cost, w) => (calm[w] ? cost + known.doomed[w]! : 0))),
    recovered: hasEnded ? sum(known.served.slice(last)) / sum(none.known.served.slice(last)) : Number.NaN,
  }
}

/** By flow and window: its weighted max-min share of the cost served, by the demand that could be served. */
export function entitlements({ windows, flows, asked, served }: Run): Float64Array {
  const entitled = new Float64Array(asked.length)
  for (let w = 0; w < windows; w++) {
    const asking = flows.filter(({ row }) => asked[row + w]! > 0)
    const all = flows.reduce((sum, { row }) => sum + served[row + w]!, 0)
    const shares = maxMin(
      asking.map(({ row }) => asked[row + w]!),
      all,
      asking.map(({ weight }) => weight),
    )
    for (const [i, { row }] of asking.entries()) entitled[row + w] = shares[i]!
  }
  return entitled
}

function unitsOf({ flows, windows, asked, served, requests }: Run, entitled: Float64Array): Flow[][] {
  const least = (LEAST_DUE * sum(asked)) / sum(requests)
  const units: Flow[][] = []
  let unit: Flow[] = []
  let due = 0
  for (const flow of flows) {
    const { row, crowd, isKnown } = flow
    if (crowd !== unit[0]?.crowd) {
      unit = []
      due = 0
    }
    if (!isKnown) continue
    unit.push(flow)
    due += Math.min(sum(served.subarray(row, row + windows)), sum(entitled.subarray(row, row + windows)))
    if (due < least) continue
    units.push(unit)
    unit = []
    due = 0
  }
  return units
}

function calmWindows({ resource }: World, { windows, known, strangers }: Run): boolean[] {
  const quiet = Array.from({ length: windows }, (_, w) => {
    const asked = known.asked[w]! + strangers.asked[w]!
    const capacity = capacityBetween(resource, w * WINDOW, (w + 1) * WINDOW)
    return asked < CALM * capacity && known.failed[w]! + strangers.failed[w]! <= CALM_FAILURES * asked
  })
  return quiet.map((_, w) => quiet.slice(Math.max(0, w - BEFORE), w + 1).every(Boolean))
}

/** Jain's index: 1 if all are equal, 1 / n if one has everything. */
function jain(shares: readonly number[]): number {
  const total = sum(shares)
  return total > 0 ? total ** 2 / (shares.length * sum(shares.map((x) => x * x))) : Number.NaN
}

export function sum(list: Iterable<number>): number {
  let total = 0
  for (const x of list) total += x
  return total
}

export function mean(list: readonly number[]): number {
  return list.length > 0 ? sum(list) / list.length : Number.NaN
}
