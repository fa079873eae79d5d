import type { Step } from './step.js'

/**
 * What happened since the last failure. At a failure the resource is empty, so what was served between two of them, by
 * the time between them, is its capacity; and the longer a run without one, the more may be probed for.
 */
export class CleanRun {
  seconds = 0
  /** Successes while the resource was not known to be full: only those say something about its capacity. */
  telling = 0
  /** Cost served, and in how many seconds, of what has not been measured yet. */
  served = 0
  servedSeconds = 0

  advance({ seconds }: Step): void {
    this.seconds += seconds
    this.servedSeconds += seconds
  }

  /** What was served so far has been measured. */
  measured(): void {
    this.served = 0
    this.servedSeconds = 0
  }

  /** A failure: the run is over, and another begins. */
  end(): void {
    this.seconds = 0
    this.telling = 0
    this.measured()
  }
}
