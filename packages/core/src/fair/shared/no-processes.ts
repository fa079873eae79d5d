import type { ClockLink } from './report.js'

// Replaces `processes.ts` where Node's processes do not exist: an edge bundle contains nothing of them.

/** There is no primary process. */
export function processLink(): ClockLink | undefined {
  return undefined
}

export function takeDefaultName(): boolean {
  return false
}

export class SharedClock {
  /** @throws A link has to bring its own clock here. */
  constructor() {
    throw new TypeError('fair.shared.link: here only doormanFleet shares clocks')
  }
}
