/**
 * Capacity is handed out in multiples of a power of two, 2^-40 of the capacity or so: sums of such numbers are exact
 * in doubles, so totals that are adjusted in place stay true and come back to exactly 0.
 */

/** Binary digits between the capacity and the unit. */
const DIGITS = 40

/** How far the capacity may move, in doublings, before the unit follows it; 2^53 leaves room for that. */
const SLACK = 4

/** The exponent of the unit for `capacity`; the present one while it is good enough. */
export function exponentOf(capacity: number, present?: number): number {
  const exponent =
    capacity > 0 && capacity < Number.POSITIVE_INFINITY ? Math.ceil(Math.log2(capacity)) - DIGITS : -DIGITS
  return present !== undefined && Math.abs(exponent - present) <= SLACK ? present : exponent
}

/** The least multiple of `unit` that is not below `value`. */
export function roundUp(value: number, unit: number): number {
  const multiple = Math.ceil(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}

/** The largest multiple of `unit` that is not above `value`. */
export function roundDown(value: number, unit: number): number {
  const multiple = Math.floor(value / unit)
  return Number.isSafeInteger(multiple) ? multiple * unit : value
}
