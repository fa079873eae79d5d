import { mix32 } from '../../hash.js'
import type { FlowKey } from '../placement.js'
import { LATELY_REQUESTS } from './evidence.js'
import { PLACES } from './known-flows.js'

/** Outcomes decay over about this many seconds. */
const MEMORY_SECONDS = 10
/** A flow's failures are its own if they are more than this many times the usual share of its outcomes... */
const TIMES = 2
/** ...and by this many standard errors more. */
const SURE = 3
/** Additional variance of a count, beyond random variation. */
const GRAIN = 0.5
/**
 * With fewer successes in total there is no comparison; and a flow without any is judged by itself once it has this
 * number of outcomes, and together with other new names before.
 */
const LEAST_SEEN = 3
/** Weights grow with time, instead of all counts decaying; they are rescaled when they have grown by e to this. */
const MOST_GROWTH = 40

/**
 * Attributes failures. A failure caused by the flow itself, by its own quota, a broken client, an attack, says nothing
 * about the resource. It is detected by comparison: the flow fails far more often than the flows that are served. For
 * each success, the failure share of its flow without the success itself is taken, and their mean is the usual share.
 * Flows without a recent success are judged together until they have some outcomes of their own.
 *
 * Counts lie in a sketch, of which the least shared cell is read. O(1), nothing allocated, 128 KiB at 4096 cells.
 */
export class OwnFailures {
  readonly #outcomes: Float32Array
  readonly #failures: Float32Array
  readonly #mask: number
  readonly #seen = { outcomes: 0, failures: 0 }
  readonly #unknown = { outcomes: 0, failures: 0 }
  /** The counts of the last reported flow. */
  readonly #flow = { outcomes: 0, failures: 0 }
  #begin = Number.NaN
  /** Failure rate of the last reported flow: by the outcomes before this one, plus one with the usual share. */
  expected = 0

  /** `cells`: number on each level, rounded up to a power of two. */
  constructor(cells: number) {
    const size = 2 ** Math.ceil(Math.log2(cells))
    this.#mask = size - 1
    this.#outcomes = new Float32Array(PLACES * size)
    this.#failures = new Float32Array(PLACES * size)
  }

  /** A request of the flow ended, at `now` seconds. True if it failed for a reason of the flow. */
  report(key: FlowKey, failed: boolean, now: number): boolean {
    const weight = this.#weight(now)
    this.#add(key, weight, failed ? weight : 0)
    const outcomes = this.#flow.outcomes / weight
    const failures = this.#flow.failures / weight
    const hadSuccess = outcomes - failures > (failed ? 0.5 : 1.5)
    const seen = this.#seen
    const usual = this.#usual
    const isOwn = failures > 0 && seen.outcomes >= LEAST_SEEN * weight && stands(failures, outcomes, usual)
    this.expected = isOwn ? 0 : Math.max(0, failures - (failed ? 1 : 0) + usual) / outcomes
    const unknown = this.#unknown
    if (!hadSuccess) {
      unknown.outcomes += weight
      if (failed) unknown.failures += weight
    }
    if (!failed) {
      if (outcomes > 1.5) {
        seen.outcomes += weight
        seen.failures += weight * Math.min(1, failures / (outcomes - 1))
        const most = LATELY_REQUESTS * weight
        if (seen.outcomes > most) {
          seen.failures *= most / seen.outcomes
          seen.outcomes = most
        }
      }
      return false
    }
    if (seen.outcomes < LEAST_SEEN * weight) return false
    if (isOwn) return true
    if (hadSuccess || outcomes >= LEAST_SEEN) return false
    return stands(unknown.failures / weight, unknown.outcomes / weight, usual)
  }

  /** Sets `expected` for a request of the flow without counting it, at `now` seconds. */
  expect(key: FlowKey, now: number): void {
    const weight = this.#weight(now)
    this.#add(key, 0, 0)
    this.expected = (this.#flow.failures + this.#usual * weight) / (this.#flow.outcomes + weight)
  }

  /** Failure share in the flows that are served. */
  get #usual(): number {
    const { outcomes, failures } = this.#seen
    return outcomes > 0 ? failures / outcomes : 0
  }

  /** Counts outcomes of a flow, and stores its counts up to now in `#flow`. */
  #add({ a, b }: FlowKey, outcomes: number, failures: number): void {
    let least = Number.POSITIVE_INFINITY
    for (let level = 0; level < PLACES; level++) {
      const cell = level * (this.#mask + 1) + (mix32(a + Math.imul(b, 2 * level + 1)) & this.#mask)
      const sum = this.#outcomes[cell]! + outcomes
      this.#outcomes[cell] = sum
      if (failures > 0) this.#failures[cell]! += failures
      if (sum < least) {
        least = sum
        this.#flow.failures = this.#failures[cell]!
      }
    }
    this.#flow.outcomes = least
  }

  #weight(now: number): number {
    if (Number.isNaN(this.#begin)) this.#begin = now
    let age = (now - this.#begin) / MEMORY_SECONDS
    if (age > MOST_GROWTH) {
      const scale = Math.exp(-age)
      for (const list of [this.#outcomes, this.#failures]) for (let i = 0; i < list.length; i++) list[i]! *= scale
      for (const counts of [this.#seen, this.#unknown]) {
        counts.outcomes *= scale
        counts.failures *= scale
      }
      this.#begin = now
      age = 0
    }
    return Math.exp(age)
  }
}

/** True if the failures among the outcomes are far more than the usual share. */
function stands(failures: number, outcomes: number, usual: number): boolean {
  const expected = usual * outcomes
  const beyond = failures - expected
  return failures > TIMES * expected && beyond > SURE * Math.sqrt(expected * (1 - usual) + GRAIN)
}
