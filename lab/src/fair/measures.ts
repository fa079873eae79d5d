import { calmFrom, entitlements, spellsOf, suppliedBetween, wellBehaved } from './entitlement.js'
import type { Scenario } from './scenario.js'
import { type Run, WINDOW } from './simulate.js'

/** Measures of a run. Parts are of 1; NaN if there is nothing to measure. */
export interface Measures {
  /** Jain's index of served / entitled, over the whole run. */
  readonly jain: number
  /** The same with each flow's entitlement window by window, which shows flows that starve during a surge. */
  readonly windowed: number
  /** Cost served, as a part of the smaller of demand and capacity. */
  readonly utilisation: number
  /** Cost served. */
  readonly served: number
  /** Served / asked of the flows that never ask for more than the fair level. */
  readonly goodMean: number
  readonly goodWorst: number
  /** Requests that were admitted and failed. */
  readonly failures: number
  /** Requests refused, as a part of all. */
  readonly refused: number
  /** Requests refused later than 10 s after the last overload; all refusals if there was none. */
  readonly needless: number
  /** Seconds from the end of the last overload to the last refusal. */
  readonly recovery: number
}

/** Refusals are expected for this number of seconds after an overload. */
const GRACE = 10

export function measure(scenario: Scenario, run: Run): Measures {
  const { arrivals, asked, served, admitted, failed, refused } = run
  const flows = arrivals.flows.length
  const askedBy = totals(asked, flows)
  const servedBy = totals(served, flows)
  const good = wellBehaved(scenario)
  const goodRatios = servedBy.map((cost, i) => cost / askedBy[i]!).filter((_, i) => good[i] && askedBy[i]! > 0)
  const calm = calmFrom(scenario)
  const late = run.refusedAt.filter((at) => at > calm + (calm > 0 ? GRACE : 0)).length
  return {
    jain: jain(servedOverEntitled(scenario, run)),
    windowed: jain(ratios(servedBy, entitledByWindow(scenario, run))),
    utilisation: sum(servedBy) / Math.min(supplyOf(scenario, 0, scenario.seconds), sum(askedBy)),
    served: sum(servedBy),
    goodMean: sum(goodRatios) / goodRatios.length,
    goodWorst: goodRatios.length > 0 ? Math.min(...goodRatios) : Number.NaN,
    failures: failed / admitted,
    refused: refused / arrivals.count,
    needless: calm === Number.POSITIVE_INFINITY ? Number.NaN : late,
    recovery: calm === Number.POSITIVE_INFINITY ? Number.NaN : Math.max(0, (run.refusedAt.at(-1) ?? 0) - calm),
  }
}

/** Served / entitled over the whole run, of each flow with an entitlement above 0. */
export function servedOverEntitled(scenario: Scenario, { arrivals, asked, served }: Run): number[] {
  const askedBy = totals(asked, arrivals.flows.length)
  const supply = supplyOf(scenario, 0, scenario.seconds)
  return ratios(totals(served, arrivals.flows.length), entitlements(askedBy, weightsOf(arrivals), supply))
}

/** Each flow's entitlements per window, summed. */
export function entitledByWindow(scenario: Scenario, { arrivals, asked, windows }: Run): number[] {
  const entitled = arrivals.flows.map(() => 0)
  for (let window = 0; window < windows; window++) {
    const supply = supplyOf(scenario, window * WINDOW, (window + 1) * WINDOW)
    const shares = entitlements(column(asked, window, windows), weightsOf(arrivals), supply)
    for (const [i, share] of shares.entries()) entitled[i]! += share
  }
  return entitled
}

/** Capacity between two times, with the initial store of the resource. */
function supplyOf(scenario: Scenario, from: number, to: number): number {
  const store = from === 0 && scenario.resource.kind === 'bucket' ? scenario.resource.burst : 0
  return suppliedBetween(spellsOf(scenario), from, to) + store
}

function weightsOf({ flows }: Run['arrivals']): number[] {
  return flows.map(({ weight }) => weight)
}

/** Jain's index: 1 if all are equal, 1/n if one has everything. */
function jain(values: readonly number[]): number {
  const squares = values.reduce((total, value) => total + value * value, 0)
  return squares === 0 ? 0 : sum(values) ** 2 / (values.length * squares)
}

/** Of flows with an entitlement above 0. */
function ratios(served: readonly number[], entitled: readonly number[]): number[] {
  return served.map((cost, i) => cost / entitled[i]!).filter((_, i) => entitled[i]! > 0)
}

export function totals(cells: Float64Array, flows: number): number[] {
  const windows = cells.length / flows
  return Array.from({ length: flows }, (_, i) => sum([...cells.subarray(i * windows, (i + 1) * windows)]))
}

function column(cells: Float64Array, window: number, windows: number): number[] {
  const values: number[] = []
  for (let at = window; at < cells.length; at += windows) values.push(cells[at]!)
  return values
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
