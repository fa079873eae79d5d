/** What the level looks at of a member of the pool. */
export interface Claimant {
  readonly weight: number
  /** Credit granted in this window, less what came back. */
  readonly granted: number
}

/** What is kept for a claimant at `level`, when a share `elapsed` of the window is over: its guarantee, less the larger
 * of what it was granted and what it let pass. */
export function claimOf({ weight, granted }: Claimant, level: number, elapsed: number): number {
  const guarantee = weight * level
  const gone = Math.max(granted, guarantee * elapsed)
  return guarantee > gone ? guarantee - gone : 0
}

/** Sum of the claims at `level`. */
export function claimsAt(claimants: readonly Claimant[], level: number, elapsed: number): number {
  let sum = 0
  for (const claimant of claimants) sum += claimOf(claimant, level, elapsed)
  return sum
}

/**
 * The level: guarantee per unit of weight. The largest one up to `most` at which all claims together fit into `left`.
 *
 * The sum of the claims grows with the level, by straight pieces: a claim begins where the guarantee exceeds what was
 * granted, and grows more slowly from where its pace does, too. O(n); O(n log n) if `most` is too much.
 *
 * Every step is repeated in the same order by the script for Redis, so both give the same numbers, bit for bit.
 */
export function levelOf(claimants: readonly Claimant[], most: number, left: number, elapsed: number): number {
  if (claimsAt(claimants, most, elapsed) <= left) return most
  const bends: number[] = [0]
  for (const { weight, granted } of claimants) {
    if (weight <= 0) continue
    const begins = granted / weight
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
  for (const { weight, granted } of claimants) {
    if (weight <= 0 || granted / weight > bend) continue
    if (elapsed > 0 && granted / weight / elapsed <= bend) slope += weight * (1 - elapsed)
    else {
      slope += weight
      offset += granted
    }
  }
  return slope > 0 ? Math.min(most, offset / slope) : bend
}
