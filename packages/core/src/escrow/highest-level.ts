/** Steps of a search before it makes do: more than halving alone needs, at every third step. */
const MOST_STEPS = 200

/** Claims of which a level and a time decide. */
export interface LevelledClaims {
  /** All claims at `level`, when the share `tau` of the window is over. */
  total(level: number, tau: number): number
  /** By how much the last {@link total} grows with the level. */
  readonly slope: number
}

/**
 * The highest level, up to `ceiling`, at which all `claims`, and that of a newcomer of weight `newcomer`, fit into
 * `room`, to within `slack`. The search begins at `from`.
 *
 * Claims grow with the level in straight pieces: Newton's steps find the piece in a few of them, and halving at every
 * third bounds their number.
 */
export function highestLevel(
  claims: LevelledClaims,
  from: number,
  ceiling: number,
  tau: number,
  room: number,
  newcomer: number,
  slack: number,
): number {
  const own = newcomer * (1 - tau)
  let low = 0
  let high = ceiling
  // The newcomer alone has room up to here.
  let level = own > 0 ? Math.min(from, room / own) : from
  let mayBeAll = true
  for (let step = 0; step < MOST_STEPS; step++) {
    const excess = claims.total(level, tau) + own * level - room
    const slope = claims.slope + own
    if (level === ceiling) {
      if (excess <= slack) return ceiling
      mayBeAll = false
    }
    const next = slope > 0 ? level - excess / slope : excess > 0 ? 0 : ceiling
    if (mayBeAll && excess <= slack && next + (2 * slack) / slope >= ceiling) {
      level = ceiling
      continue
    }
    if (Math.abs(excess) <= slack && slope > 0) return level
    if (excess <= 0) low = level
    else high = level
    if (high - low <= Number.EPSILON * high) break
    level = next > low && next < high && step % 3 < 2 ? next : (low + high) / 2
  }
  return low
}
