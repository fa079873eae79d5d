import { RETRY, TIE } from '../budget.js'
import type { Stake } from './store.js'

/** Tenants with about the same use per weight, as one sum. */
export interface Stratum {
  /** Its index: {@link stratumOf} the use per weight. */
  readonly at: number
  count: number
  weight: number
  used: number
  /** Refused costs. */
  ask: number
}

/** Non-empty strata, in order. */
export type Strata = Stratum[]

/** A tenant's contribution to its stratum. */
export type Layer = Omit<Stratum, 'count'>

/** Strata are 1.6 % wide around 1, and 1 % around 1000: sums over them have about this precision. */
const RESOLUTION = 1_024

/**
 * The stratum of a use per weight. By square roots alone, which every machine and language rounds alike, so that the
 * script for Redis gives the same.
 */
export function stratumOf(share: number): number {
  return Math.floor(RESOLUTION * Math.sqrt(Math.sqrt(Math.sqrt(Math.sqrt(share)))))
}

/** Adds a tenant to its stratum, or removes it. O(log strata), and a shift if it is the first or the last one. */
export function layer(strata: Strata, { at, weight, used, ask }: Layer, sign: 1 | -1): void {
  let low = 0
  let high = strata.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (strata[middle]!.at < at) low = middle + 1
    else high = middle
  }
  let stratum = strata[low]
  if (stratum === undefined || stratum.at !== at) {
    stratum = { at, count: 0, weight: 0, used: 0, ask: 0 }
    strata.splice(low, 0, stratum)
  }
  stratum.count += sign
  stratum.weight += sign * weight
  stratum.used += sign * used
  stratum.ask += sign * ask
  // Rounding errors are removed with the last one.
  if (stratum.count <= 0) strata.splice(low, 1)
}

/** The last window's budget, including what was carried into it. It was used up if claims had to sink. */
export function budgetOf(active: Strata, level: number): number {
  let [all, used] = [0, 0]
  for (const one of active) {
    all += one.weight
    used += one.used
  }
  return Math.max(level * all, used)
}

/** The level per weight, not below 0, above which strata are ahead by that budget together. */
export function levelBelow(strata: Strata, aheadOf: (one: Stratum) => number, budget: number): number {
  let [weight, above] = [0, 0]
  for (let at = strata.length - 1; at >= 0; at--) {
    const one = strata[at]!
    const ahead = aheadOf(one)
    if (above - weight * ahead >= budget) break
    weight += one.weight
    above += one.weight * ahead
  }
  return weight > 0 ? Math.max(0, (above - budget) / weight) : 0
}

/** Costs above the reach have no precedence. The failed one is the least for which budget was kept, in vain. */
export interface CostBounds {
  reach: number
  failed: number
}

/**
 * All tenants as sums: the active ones, those refused in this slot of time and in the last, and those refused when they
 * last asked.
 */
export interface Standings extends CostBounds {
  readonly active: Strata
  slot: number
  line: Strata
  lineBefore: Strata
  readonly wanting: Strata
  /** Those refused more than their part of the limit in this window, which lend their claims to the first of them. */
  readonly large: Strata
  /** Total carried by the active tenants. */
  carried: number
  /**
   * Per weight, of the tenants that wanted more in the window before: the least amount, and the largest that may be
   * compensated.
   */
  least: number
  most: number
  /** The amount per weight that a newcomer begins with. */
  entry: number
  /** The guarantee of weight 1 at the end of that window. */
  level: number
}

export function newStandings(): Standings {
  const none = { carried: 0, least: 0, most: 0, entry: 0, level: 0, reach: Number.MAX_VALUE, failed: Number.MAX_VALUE }
  return { active: [], slot: 0, line: [], lineBefore: [], wanting: [], large: [], ...none }
}

/**
 * The largest cost that may be served beside the tenants that want no more than their parts, by the last window, and
 * the least for which all was kept in vain: of the first that waits for more than its part. That stays as long as one
 * asks for as much, and none is served.
 */
export function reachOf(
  { active, wanting, reach, failed: before }: Standings,
  limit: number,
  left: number,
  quiet: Stake,
): CostBounds {
  let weights = quiet.weight
  for (const { weight } of active) weights += weight
  const due = weights > 0 ? (limit / weights) * TIE : 0
  const keptBy = ({ weight, used }: Stake): number => Math.min(due * weight, used + due * weight * RETRY)
  let most = limit * TIE - keptBy(quiet)
  for (const one of active) if (one.used <= due * one.weight) most -= keptBy(one)
  for (const one of wanting) if (one.used <= due * one.weight) most += keptBy(one)
  let [failed, first] = [Number.MAX_VALUE, Number.MAX_VALUE]
  let stays = false
  for (const { count, weight, used, ask } of wanting) {
    if (ask <= due * weight) continue
    const cost = ask / count
    if (cost * TIE >= before) stays = true
    const tag = (used + ask) / weight
    if (left > most - left && cost <= Math.min(left * TIE, reach) && tag < first) [failed, first] = [cost, tag]
  }
  if (stays) failed = before
  return { reach: Math.min(most, failed / TIE / TIE), failed }
}

/**
 * The amount reserved for a claimant at `level`, when a share `elapsed` of the window has passed: its guarantee, less
 * the larger of its use and the amount that it let pass.
 */
export function claimOf({ weight, used }: Stake, level: number, elapsed: number): number {
  const guarantee = weight * level
  const gone = Math.max(used, guarantee * elapsed)
  return guarantee > gone ? guarantee - gone : 0
}

/** Sum of the claims at `level`. */
export function claimsAt(claimants: readonly Stake[], level: number, elapsed: number): number {
  let sum = 0
  for (const claimant of claimants) sum += claimOf(claimant, level, elapsed)
  return sum
}

/**
 * The level: guarantee per unit of weight. The largest one up to `most` at which all claims together fit into `left`.
 *
 * The sum of the claims is piecewise linear in the level: a claim begins where the guarantee exceeds the use, and
 * grows more slowly from where its pace does, too. O(n); O(n log n) if `most` is too much.
 *
 * Every step is repeated in the same order by the script for Redis, so both give the same numbers, bit for bit.
 */
export function levelOf(claimants: readonly Stake[], most: number, left: number, elapsed: number): number {
  if (claimsAt(claimants, most, elapsed) <= left) return most
  const bends: number[] = [0]
  for (const { weight, used } of claimants) {
    if (weight <= 0) continue
    const begins = used / weight
    if (begins < most) bends.push(begins)
    if (elapsed > 0 && begins / elapsed < most) bends.push(begins / elapsed)
  }
  bends.sort((a, b) => a - b)
  let low = 0
  let high = bends.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (claimsAt(claimants, bends[middle]!, elapsed) <= left) low = middle
    else high = middle
  }
  const bend = bends[low]!
  let slope = 0
  let offset = left
  for (const { weight, used } of claimants) {
    if (weight <= 0 || used / weight > bend) continue
    if (elapsed > 0 && used / weight / elapsed <= bend) slope += weight * (1 - elapsed)
    else {
      slope += weight
      offset += used
    }
  }
  return slope > 0 ? Math.min(most, offset / slope) : bend
}
