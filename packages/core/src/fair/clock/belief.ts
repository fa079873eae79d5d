/**
 * Decision about a request. `uncharged`: admitted because nothing is short, although its flow is ahead of the clock.
 */
export type Judgement = 'refused' | 'uncharged' | 'charged'

/** State of a clock: enough for another clock to continue from it. Costs and times as in `FairClock`. */
export interface ClockBelief {
  readonly time: number
  readonly rate: number
  readonly open: boolean
  readonly meanCost: number
  readonly usual: number
  readonly deliverable: number
  readonly left: number
  readonly owed: number
  /** Added per second to `left` and to `owed`, their target, and their maximum. */
  readonly fill: number
  readonly floor: number
  readonly reserve: number
  readonly most: number
  /** True during a look, which admits less as a test, regardless of `open`. */
  readonly looking: boolean
}

/** State of a clock at some moment. */
export type ClockMark = Pick<ClockBelief, 'time' | 'left' | 'owed'>

/** Record of an admitted request until its outcome. */
export interface Admission {
  /** Time of its admission, in seconds. */
  at: number
  window: number
  look: number
  /** The modelled bucket of a sole user was empty. */
  isDry: boolean
}
