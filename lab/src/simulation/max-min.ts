/**
 * Max-min shares of `supply`, by weight, by filling: each demand is met in full, or gets its weight's part of the rest
 * that smaller demands leave. In fractions, also of whole numbers.
 */
export function maxMin(demands: readonly number[], supply: number, weights?: readonly number[]): number[] {
  const weightOf = (i: number): number => weights?.[i] ?? 1
  const order = demands.map((_, i) => i).sort((i, j) => demands[i]! / weightOf(i) - demands[j]! / weightOf(j))
  const shares = demands.map(() => 0)
  let left = supply
  let all = order.reduce((sum, i) => sum + weightOf(i), 0)
  for (const i of order) {
    const share = Math.min(demands[i]!, (left * weightOf(i)) / all)
    shares[i] = share
    left = Math.max(0, left - share)
    all -= weightOf(i)
  }
  return shares
}
