/** How far up the range each priority, from -2 to 2, starts to be refused: s in `from + s·(to - from)`. */
const RISES: readonly number[] = [-1, -0.5, 0, 0.75, 0.9]

/** Requests' worth of credit that a flow needs to be spared. */
const CREDIT_OF_THE_QUIET = 1

/** Where the quiet start at the latest, as a share of the range. */
const RISE_OF_THE_QUIET = 0.5

/**
 * The rise of a request: where in the range refusing starts for it. See `Curve.probability`.
 *
 * `priority` is a whole number from -2 (give it up first) to 2; anything else counts as 0. `credit` is what FAIR says
 * the flow still holds, in requests: with 1 or more the flow is not the one causing the shortage, and starts halfway up
 * at least. Absent, it changes nothing.
 */
export function riseOf(priority: number, credit: number | undefined): number {
  const rise = RISES[priority + 2] ?? 0
  return credit !== undefined && credit >= CREDIT_OF_THE_QUIET ? Math.max(rise, RISE_OF_THE_QUIET) : rise
}
