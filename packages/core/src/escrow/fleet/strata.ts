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
