import type { Lead } from './lead.js'
import type { Phase } from './phase.js'
import type { Reservoir } from './reservoir.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'

/** The clock runs at most so many times as fast as the fair rate. */
const MOST_PRESSURE = 4

/** How quickly the fair rate follows: per second, by so much of a request's time at most, and in one step. */
const GAIN_PER_SECOND = 0.2
/** The same while flows are refused although the resource is full: then the rate is far too low, as at a cold start. */
const SEEK_PER_SECOND = 3
const SEEK_PER_REQUEST = 0.2
const GAIN_PER_REQUEST = 0.02
const MOST_STEP = 0.7

/** The same while nobody is refused: per request. */
const SHADOW_STEP = 0.03
const SHADOW_GAIN = 0.3
/**
 * Up where a request would be refused, down where not: so a third would be, at the level that the rate then follows.
 */
const SHADOW_UP = 0.67
const SHADOW_DOWN = 0.33

/** At first: requests that everybody may have had, and how many more per second. */
const FIRST_CREDIT = 2
const FIRST_RATE = 1

/** Requests per second, far beyond any service: keeps the arithmetic finite. */
const LEAST_RATE = 1e-9
const MOST_RATE = 1e15

/**
 * The fair clock: how much each flow may have had by now, per unit of weight, and how fast that grows.
 *
 * The rate follows slowly what the flows can have; the clock itself reacts at once. It stands still while the resource
 * is short, so that what there is goes to those who have credit, and runs ahead while there is something to spare, so
 * that none of it is left unused.
 */
export class Pace {
  /** The clock, in units of cost by weight. Begins at a little credit for everyone. */
  time: number = FIRST_CREDIT
  /** The fair rate: cost per second and unit of weight. */
  rate: number = FIRST_RATE

  /** The first request comes, of this cost: before that nothing is known of the unit. */
  begin(cost: number): void {
    this.time = FIRST_CREDIT * cost
    this.rate = FIRST_RATE * cost
  }

  /** Nobody is refused: the clock just runs. */
  runFreely({ seconds }: Step): void {
    this.time += this.rate * seconds
  }

  /**
   * Runs at the fair rate, times what there is to spare and soon will be, by the target. In one step no further than
   * what there is to spare, which a single flow might take at once.
   */
  run({ level, spareLevel, spareSeconds, target }: Reservoir, { cost }: Lead, { refusedWeight }: Phase): void {
    const pressure = Math.max(0, (spareLevel + cost) / target)
    this.time += Math.min(level / refusedWeight, this.rate * Math.min(MOST_PRESSURE, pressure) * spareSeconds)
  }

  /**
   * Fits the rate to what there is to spare: more than the target means that flows could have more. But none can have
   * more than all there is: who is refused even so has asked for too much before, and that will pass.
   */
  follow(reservoir: Reservoir, { probedPerSecond }: Step, { meanCost }: Traffic, { refusedWeight }: Phase): void {
    const { spareLevel, spareSeconds, target, full } = reservoir
    const error = Math.min(MOST_PRESSURE, spareLevel / target - 1)
    if (error > 0 && this.rate * refusedWeight > probedPerSecond) return
    const requestsPerSecond = probedPerSecond / meanCost
    const gain = full
      ? Math.min(SEEK_PER_REQUEST * requestsPerSecond, SEEK_PER_SECOND)
      : Math.min(GAIN_PER_REQUEST * requestsPerSecond, GAIN_PER_SECOND)
    const step = gain * error * spareSeconds
    this.#scale(Math.max(-MOST_STEP, Math.min(MOST_STEP, step)), meanCost)
  }

  /** While nobody is refused: follows the rate at which a third of the requests would be. */
  shadow(over: boolean, { peakPerSecond, meanCost }: Traffic): void {
    const step = Math.min(SHADOW_STEP, (SHADOW_GAIN * meanCost) / peakPerSecond)
    this.#scale(step * (over ? SHADOW_UP : -SHADOW_DOWN), meanCost)
  }

  #scale(logarithm: number, meanCost: number): void {
    this.rate = Math.max(LEAST_RATE * meanCost, Math.min(MOST_RATE * meanCost, this.rate * Math.exp(logarithm)))
  }
}
