import type { ClockLink } from './report.js'

// In place of `processes.ts` where there are no processes of Node's: an edge bundle has nothing of them.

export const canShare = false

/** There is no primary process. */
export function processLink(): ClockLink | undefined {
  return undefined
}

export function takeDefaultName(): boolean {
  return false
}

/** Never made: an option that asks for it is an error. */
export class SharedClock {}
