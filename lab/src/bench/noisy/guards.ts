import type { Guard, Peer } from './framework.js'

/** The guards in the order of the table. */
export const GUARDS: readonly Guard[] = [
  'nothing',
  'documented',
  'fair level',
  'heavy due',
  'fairlead',
  'fairlead queue',
]

/** A guard's name in the table. */
export function titleOf(guard: Guard, { name, documented }: Peer): string {
  switch (guard) {
    case 'nothing':
      return 'no protection'
    case 'documented':
      return `${name}, ${documented.limit} per ${documented.windowMs / 60_000} min as documented`
    case 'fair level':
      return `${name}, told the fair level`
    case 'heavy due':
      return `${name}, told a heavy client's entitlement`
    case 'fairlead':
      return 'Fairlead, no options'
    case 'fairlead queue':
      return 'Fairlead, `queue`'
  }
}
