/**
 * Decision about a request. `uncharged`: admitted because nothing is short, although its flow is ahead of the clock.
 */
export type ClockJudgement = 'refused' | 'uncharged' | 'charged'

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
  /** Number of requests that were running. */
  running: number
}

// Thresholds of evidence for all parts of the fair clock. One idea has one constant for all its uses.

/** Standard errors beyond which a difference counts as certain, and as certain enough to blame somebody. */
export const SURE = 2
export const VERY_SURE = 3
/** Failures up to this share are tolerated. */
export const TOLERATED = 0.03
/** Up to this share they are chance: they end an alarm, and no run. */
export const CHANCE: number = TOLERATED / 4
/** A smaller part of the requests is not worth a test: a look takes at least as much away. */
export const LEAST_DEPTH = 0.1
/** Number of recent requests: means are taken over them, and a run of this length is significant. */
export const LATELY_REQUESTS = 100
/** Shorter times, or fewer requests, define no rate. */
export const RATE_SECONDS = 2
export const RATE_REQUESTS = 30
/** Mean delays after which all but a few outcomes of admitted requests are known. */
export const DELAYS = 4
/** Outcomes, or windows of them, over which shares and delays are averaged. */
export const OUTCOMES = 50
/** Outcomes of a sole user. While nothing is refused, doubt after half as many in looks counts against a shortage. */
export const MOST_OUTCOMES = 1_600
/** Counts are whole: half an event is never certain. */
export const GRAIN = 0.5
/** A smaller served share is an outage. There is nothing to share, and nothing to learn. */
export const LEAST_SERVED = 1e-3
/** Requests a second: keeps the arithmetic finite. */
export const LEAST_RATE = 1e-9
