/**
 * How an admitted request ended, as far as shortage is concerned.
 *
 * - `success`: it got the resource.
 * - `failure`: it did not, because there was a shortage. The only thing that FAIR may learn guilt from.
 * - `ignored`: says nothing about shortage: a bad request, a bug, a client that left, an upstream's timeout.
 */
export type Outcome = 'success' | 'failure' | 'ignored'

export const outcomes: readonly Outcome[] = ['success', 'failure', 'ignored']
