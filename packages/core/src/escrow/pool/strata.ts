/** Tenants that have used about the same per weight, as one sum. */
export interface Stratum {
  /** Which of them: {@link stratumOf} what was used per weight. */
  readonly at: number
  count: number
  weight: number
  used: number
  /** Costs that they were refused. */
  ask: number
}

/** Strata with somebody in them, in order. */
export type Strata = Stratum[]

/** What one tenant adds to its stratum. */
export type Layer = Omit<Stratum, 'count'>

/** Strata are 1.6 % wide around 1, and 1 % around 1000: sums over them are about as exact. */
const RESOLUTION = 1_024

/**
 * The stratum for what was used per weight. By square roots alone, which every machine and language rounds alike, so
 * that the script for Redis gives the same.
 */
export function stratumOf(share: number): number {
  return Math.floor(RESOLUTION * Math.sqrt(Math.sqrt(Math.sqrt(Math.sqrt(share)))))
}

/** Adds a tenant to its stratum, or takes it out. O(log strata), and a shift where the first comes or the last goes. */
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
  // What rounding left goes with the last one.
  if (stratum.count <= 0) strata.splice(low, 1)
}
