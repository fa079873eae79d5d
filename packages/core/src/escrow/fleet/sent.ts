import type { LeaseCall } from './store.js'

/** A pending or lost call. */
export interface Sent {
  readonly call: LeaseCall
  readonly firstSentMs: number
  sentMs: number
  /** It was sent again. */
  isRepeated: boolean
  /** Resolves when this sending has been answered or has failed; never rejects. Undefined afterwards. */
  done: Promise<void> | undefined
  end: () => void
}

/** A call that is about to be sent. */
export function newSent(call: LeaseCall, nowMs: number): Sent {
  return { call, firstSentMs: nowMs, sentMs: nowMs, isRepeated: false, done: undefined, end: () => {} }
}
