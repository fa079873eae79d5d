import { requireNumber, show } from '../options.js'
import { requireWeight } from '../weight.js'

/**
 * Splits `limit` so that nobody gets more than they demand, and nobody's share per weight could be raised without
 * lowering one that is not above it: weighted max-min fairness, by filling up with water.
 *
 * If `limit` and all demands are whole numbers, so are the shares: what rounding down leaves over is handed out one by
 * one to whoever has least per weight then (the first of equals), never above a demand. O(n log n).
 *
 * Throws a `RangeError` or `TypeError` that names what is wrong: demands and `limit` are finite and at least 0, weights
 * finite and above 0, and there is one weight for each demand.
 *
 * @see D. Bertsekas, R. Gallager, "Data Networks", 1992, §6.5.2
 */
export function weightedMaxMin(demands: readonly number[], weights: readonly number[], limit: number): number[] {
  requireSplit(demands, weights, limit)
  const byNeed = demands.map((_, i) => i).sort((i, j) => demands[i]! / weights[i]! - demands[j]! / weights[j]!)
  const shares = demands.map(() => 0)
  // Sums from the back, rather than one sum that is reduced: no rounding is carried along.
  const weightFrom = new Float64Array(byNeed.length + 1)
  for (let k = byNeed.length - 1; k >= 0; k--) weightFrom[k] = weightFrom[k + 1]! + weights[byNeed[k]!]!
  let left = limit
  for (const [k, i] of byNeed.entries()) {
    const share = Math.min(demands[i]!, (weights[i]! / weightFrom[k]!) * left)
    shares[i] = share
    left = Math.max(0, left - share)
  }
  return Number.isInteger(limit) && demands.every(Number.isInteger) ? inWholes(shares, demands, weights, limit) : shares
}

/** Rounds shares down, and hands out what that leaves over one by one to the least share per weight. */
function inWholes(
  exact: readonly number[],
  demands: readonly number[],
  weights: readonly number[],
  limit: number,
): number[] {
  const shares = exact.map(wholes)
  const wanted = demands.reduce((sum, demand) => sum + demand, 0)
  let left = Math.min(limit, wanted) - shares.reduce((sum, share) => sum + share, 0)
  while (left > 0) {
    const hungry = shares.flatMap((share, i) => (share < demands[i]! ? [i] : []))
    hungry.sort((i, j) => shares[i]! / weights[i]! - shares[j]! / weights[j]!)
    // Rounding took less than one from each, and one more lifts anybody to the common level: nobody gets two. (The
    // loop is for shares of which even the whole part was rounded.)
    for (const i of hungry.slice(0, left)) shares[i]!++
    left -= Math.min(left, hungry.length)
  }
  return shares
}

/** Of a share, by rounding, a whole number may lack this part of it, and no more than this. */
const ROUNDING = 1e-12
const MOST_ROUNDING = 1e-9

/** A share rounded down; one that is whole but for rounding stays whole. */
export function wholes(share: number): number {
  return Math.floor(share + Math.min(MOST_ROUNDING, share * ROUNDING))
}

function requireSplit(demands: readonly number[], weights: readonly number[], limit: number): void {
  requireNumber('limit', limit, 0)
  if (!Array.isArray(demands)) throw new TypeError(`demands must be an array, got ${show(demands)}`)
  if (!Array.isArray(weights)) throw new TypeError(`weights must be an array, got ${show(weights)}`)
  if (weights.length !== demands.length)
    throw new RangeError(`weights must be as many as demands, got ${weights.length} for ${demands.length}`)
  for (const [i, demand] of demands.entries()) requireNumber(`demands[${i}]`, demand, 0)
  for (const [i, weight] of weights.entries()) requireWeight(`weights[${i}]`, weight)
}

/** Of a sum this small part is hardly more than rounding. */
const CRUMB = 1e-6

/**
 * A sum of weights, once one of them has changed from `before` to `after`; 0: it was, or is, not among them. Weights
 * may be so unlike that little but rounding is left of the `others`: then those are summed up anew.
 */
export function reweighed(sum: number, before: number, after: number, others: () => number): number {
  const next = sum + (after - before)
  return next > CRUMB * sum ? next : others() + after
}
