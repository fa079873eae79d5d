import type { ClockLink } from './report.js'

// Replaces `processes.ts` where Node's processes do not exist: an edge bundle contains nothing of them.

export const canShare = false

/** There is no primary process. */
export function processLink(): ClockLink | undefined {
  return undefined
}

export function takeDefaultName(): boolean {
  return false
}

/** Never created: an option that requests it is an error. */
export class SharedClock {}
