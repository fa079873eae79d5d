/** What becomes of a request. `uncharged`: let in because nothing is short, though its flow is ahead of the clock. */
export type Judgement = 'refused' | 'uncharged' | 'charged'

/** What a clock believes: enough for others to go on from there. Costs and times as in `FairClock`. */
export interface ClockBelief {
  readonly time: number
  readonly rate: number
  readonly open: boolean
  readonly meanCost: number
  readonly usual: number
  readonly deliverable: number
  readonly left: number
  readonly owed: number
  /** What is added per second to `left` and to `owed`, and what they should be, and are at most. */
  readonly fill: number
  readonly floor: number
  readonly reserve: number
  readonly most: number
  /** True while less is let in to see what that does, whatever `open` says. */
  readonly looking: boolean
}

/** Where a clock was at some moment. */
export type ClockMark = Pick<ClockBelief, 'time' | 'left' | 'owed'>

/** What a request that was let in is remembered by, until its outcome. */
export interface Admission {
  /** When it was let in, in seconds. */
  at: number
  window: number
  look: number
  /** A bucket that this process empties by itself was empty. */
  isDry: boolean
}
