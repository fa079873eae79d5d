import type { Capacity } from './capacity.js'
import { FadingRate } from './fading-rate.js'
import type { Reservoir } from './reservoir.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'

/** What newcomers may have together: this share of the capacity, and as much at once as either of these. */
const SHARE = 0.25
const STORE_REQUESTS = 12
const STORE_SECONDS = 0.5
/**
 * More of them are let in only while so many times the target is to spare: what known flows leave even when the clock
 * runs faster for it. From the target on they would hold it there, and the clock with it.
 */
const FROM_TARGETS = 1.5

/** Who has not been charged for so many seconds is new again. */
const KNOWN_SECONDS = 60
/** Or for fewer, if in that time more newcomers come than this part of a level's cells: who is known would drown. */
const CROWDED = 0.25
/** Newcomers are counted over about so many seconds. */
const COUNTED_SECONDS = 5

/**
 * What is set aside, in a shortage, for flows that have not been seen lately.
 *
 * Credit for each of them would be a gift to whoever invents names. So newcomers have little of their own, and draw
 * from one store together; beyond that they are let in only when there is something to spare. But nobody who comes for
 * the first time should stand back behind flows that ask for twice what they get, or more: whenever one of these is let
 * in, as much is set aside for newcomers.
 */
export class Newcomers {
  /** For so many seconds, at the fair rate, it is known who was charged; fewer where the clock runs faster. */
  knownSeconds: number = KNOWN_SECONDS
  /** Full at first, whatever that comes to. */
  #store = Number.POSITIVE_INFINITY
  readonly #since = { seconds: 0 }
  readonly #letIn = new FadingRate(COUNTED_SECONDS)
  readonly #cells: number

  /** `cells`: on a level of the sketch that keeps the tags. */
  constructor(cells: number) {
    this.#cells = cells
  }

  advance({ seconds }: Step): void {
    this.#since.seconds += seconds
  }

  /** A greedy flow was let in. */
  match(cost: number): void {
    this.#store += cost
  }

  /** True if one may be let in: it takes `cost` from what is set aside, or there is enough for all. */
  allow(cost: number, capacity: Capacity, traffic: Traffic, { level, target }: Reservoir): boolean {
    return this.#take(cost, capacity, traffic) || level >= FROM_TARGETS * target
  }

  /** A newcomer was let in. */
  letIn(): void {
    this.#letIn.add(1)
    this.knownSeconds = Math.min(KNOWN_SECONDS, (CROWDED * this.#cells * COUNTED_SECONDS) / this.#letIn.sum)
  }

  #take(cost: number, { perSecond }: Capacity, { meanCost }: Traffic): boolean {
    const most = Math.max(STORE_REQUESTS * meanCost, STORE_SECONDS * perSecond)
    this.#store = Math.min(most, this.#store + SHARE * perSecond * this.#since.seconds)
    this.#letIn.advance(this.#since)
    this.#since.seconds = 0
    if (this.#store < cost) return false
    this.#store -= cost
    return true
  }
}
