/**
 * Each client's entitlement: the max-min fair split of `capacity` between `demands`. No one gets more than their
 * demand; the unused parts of small demands are split evenly between the rest. O(n log n).
 */
export function maxMin(demands: readonly number[], capacity: number): number[] {
  const shares = demands.map(() => 0)
  const modestFirst = demands.map((demand, index) => ({ demand, index })).sort((a, b) => a.demand - b.demand)
  let left = capacity
  let claimants = demands.length
  for (const { demand, index } of modestFirst) {
    const share = Math.min(demand, left / claimants--)
    shares[index] = share
    left -= share
  }
  return shares
}

/**
 * Jain's fairness index of `values`: 1 if all are equal, 1/n if one has everything. NaN if all are 0.
 *
 * @see R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984
 */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0)
  const squares = values.reduce((total, value) => total + value * value, 0)
  return (sum * sum) / (values.length * squares)
}
