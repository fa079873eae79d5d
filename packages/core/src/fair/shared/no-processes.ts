import type { SharedOptions, SharedSettings } from '../options.js'

// Replaces `processes.ts` where Node's processes do not exist: an edge bundle contains nothing of them.

/** There is no primary process: only a link shares a clock, and it brings the code for that. */
export function sharedSettings(options: SharedOptions | false | undefined): SharedSettings | undefined {
  const { name = 'default', link, ...rest } = options || {}
  return link && { ...rest, name, link }
}

export class SharedClockRule {
  /** Only for a link that does not bring it. */
  constructor() {
    throw new TypeError('fair.shared.link: here only doormanFleet shares clocks')
  }
}
