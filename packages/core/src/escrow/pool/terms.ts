import { requireAbove, requireInteger, requireText } from '../../options.js'

/** What all members of a pool must agree on. */
export interface PoolTerms {
  /** The pool's name in its store. */
  readonly name: string
  /** What all members together may spend in a window; above 0. */
  readonly limit: number
  /** Length of a window in milliseconds; windows begin at whole multiples of it. Integer, at least 1. */
  readonly windowMs: number
  /**
   * Credit that a member draws at a time; above 0, at most `limit`. Small: shares follow demand closely; large: fewer
   * calls to the store. At the end of a window, up to one quantum per member may be left unused.
   */
  readonly quantum: number
}

/** Terms as users give them. */
export type PoolTermsOptions = Omit<PoolTerms, 'quantum'> & {
  /** @default a hundredth of `limit` */
  quantum?: number
}

/** Checks terms and completes them. Throws for what is out of its range, by name; `quantum` above `limit` is, too. */
export function poolTerms(
  { name, limit, windowMs, quantum = limit / 100 }: PoolTermsOptions,
  nameOption: string = 'name',
): PoolTerms {
  requireText(nameOption, name)
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  requireInteger('windowMs', windowMs, 1)
  requireAbove('quantum', quantum, 0, limit)
  return { name, limit, windowMs, quantum }
}

/**
 * How often a member calls, in milliseconds, from its first call in a window to the window's end: it is a witness of
 * what was granted. An eighth of that later at most.
 */
export function pulseOf(windowMs: number): number {
  return Math.min(windowMs / 10, 30_000)
}

/** How long a pool that has lost its memory listens at least: longer than a member lets pass without a call. */
export function graceOf(windowMs: number): number {
  return 1.5 * pulseOf(windowMs)
}

/** Up to this, sums are the same: a billionth of the limit, a thousandth at most. */
export function fuzzOf(limit: number): number {
  return Math.min(1e-3, 1e-9 * limit)
}
