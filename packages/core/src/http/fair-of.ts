import type { FairRequest } from './visit.js'

/** Where a request keeps its visit. A `WeakMap` with an entry for each costs more than all the rest. */
const FAIR = Symbol('fair')

interface Judged {
  [FAIR]?: FairRequest
}

/**
 * What the innermost `fairHandler` or `fairFetch` knows of this request: the object that the handler was given.
 * Undefined where none judged it.
 */
export function fairOf(request: object): FairRequest | undefined {
  return (request as Judged)[FAIR]
}

/** Lets handlers see a visit. */
export function showFair(request: object, fair: FairRequest): void {
  ;(request as Judged)[FAIR] = fair
}
