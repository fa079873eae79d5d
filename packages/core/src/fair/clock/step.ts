/**
 * A step of time, as the parts of the clock see it. One object that is filled anew: numbers that are handed from one
 * function to the next are allocated wherever the engine does not inline, fields are not.
 */
export class Step {
  seconds = 0
  /** How far the run without failure can be trusted: see `trustIn`. */
  trust = 0
  /** Cost per second to go by: the measured capacity, and what is probed for beyond. */
  probedPerSecond = 0
}
