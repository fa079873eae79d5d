/**
 * What a stage grants a flow in a window, and what is left of that: for those who want to be told, in whatever words
 * their protocol has. Stages that grant nothing of the kind know none.
 */
export interface Quota {
  /** Whose it is: the name of the stage. */
  readonly policy: string
  /** What the flow is guaranteed in a window, in units of cost. */
  readonly guarantee: number
  /** Length of the window, in milliseconds; undefined if it is not known. */
  readonly windowMs: number | undefined
  /** The flow's present ceiling: what it has used in this window, and what remains to it. */
  readonly limit: number
  /** A cost up to this was admitted if it had been asked next. */
  readonly remaining: number
  /** Until the window ends, in milliseconds from now on. */
  readonly resetAfterMs: number
}

/** Of a request about which no stage has anything to tell. */
export const NO_QUOTAS: readonly Quota[] = Object.freeze([])
