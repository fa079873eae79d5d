/**
 * The end of an admitted request, with regard to shortage.
 *
 * - `success`: it got the resource.
 * - `failure`: it did not, because of a shortage. FAIR learns from failures alone which flows cause it.
 * - `ignored`: no evidence about a shortage: a bad request, a bug, a client that left, an upstream's timeout.
 */
export type Outcome = 'success' | 'failure' | 'ignored'

export const outcomes: readonly Outcome[] = ['success', 'failure', 'ignored']
