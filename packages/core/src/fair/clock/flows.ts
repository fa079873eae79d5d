import { mix32 } from '../../hash.js'
import type { FlowKey } from '../placement.js'
import { GRAIN, LATELY_REQUESTS, LEAST_RATE, VERY_SURE } from './state.js'

/**
 * For every flow the time until which it has had its share, in constant memory: levels of cells, of which a flow has
 * one on each level. Other flows may have raised some of its cells, so the least of them is the closest to its own tag.
 * It is below that only if a flow that shares a cell was refunded.
 *
 * Only cells below the new tag are raised (conservative update), so a cell that many quiet flows share is as high as
 * the highest of them, not as their sum. O(levels) per call, nothing allocated.
 *
 * @see C. Estan, G. Varghese, "New Directions in Traffic Measurement and Accounting", SIGCOMM 2002: conservative update
 */
export class TagSketch {
  readonly #tags: Float64Array
  readonly #cells: number

  constructor(levels: number, cellsPerLevel: number) {
    this.#tags = new Float64Array(levels * cellsPerLevel)
    this.#cells = cellsPerLevel
  }

  /** The tag of the flow at `places` (one cell index per level). */
  read(places: Int32Array): number {
    let least = Number.POSITIVE_INFINITY
    for (let level = 0; level < places.length; level++) {
      const tag = this.#tags[level * this.#cells + places[level]!]!
      if (tag < least) least = tag
    }
    return least
  }

  /** Raises the flow's tag to `tag`; no cell is ever lowered. */
  raise(places: Int32Array, tag: number): void {
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#cells + places[level]!
      if (this.#tags[cell]! < tag) this.#tags[cell] = tag
    }
  }

  /**
   * Refunds `amount` of the flow's tag: lowers the cells that are no higher, which no other flow has raised further.
   */
  lower(places: Int32Array, amount: number): void {
    const tag = this.read(places)
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#cells + places[level]!
      if (this.#tags[cell] === tag) this.#tags[cell] = Math.max(0, tag - amount)
    }
  }

  /** The clock was set forward by `by`: so is every tag. */
  shift(by: number): void {
    const tags = this.#tags
    for (let i = 0; i < tags.length; i++) if (tags[i]! > 0) tags[i] = Math.max(0, tags[i]! + by)
  }

  /** Forgets everything. */
  clear(): void {
    this.#tags.fill(0)
  }
}

/** Bits of each generation by cell of a level of tags: 128 KiB at 4096 cells. */
const BITS_PER_CELL = 256
/** Places of a flow in each shared structure. */
const PLACES = 4
/**
 * A generation lasts ten rotations, so that tenants that ask once every few minutes are not newcomers. With one, 24 000
 * of them that ask once in five minutes each got two thirds of their service without FAIR. It ends at the first
 * rotation with an eighth of its bits set: with half, one in eight names invented at ten times the capacity counted as
 * known.
 */
const ROTATIONS = 10
const CROWDED = 1 / 8

/**
 * Flows that were recently served: in this generation, of ten rotations at most, or in the one before. Two Bloom
 * filters, because a tag alone is no evidence: other flows raise the cells of an unused name, and at thousands of
 * invented names a second some of them would count as known.
 *
 * At the default size a new name is distinguished from 30 000 flows in all but one of 7 000 cases; from any number in
 * 99 of 100.
 *
 * @see B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", Communications of the ACM 13 (1970)
 */
export class KnownFlows {
  readonly #mask: number
  /** The number of the generation, from 1 on. */
  #generation = 1
  #rotations = 0
  #set = 0
  #now: Int32Array
  #before: Int32Array

  /** `cells`: number on each level of the sketch of tags. */
  constructor(cells: number) {
    const bits = 2 ** Math.ceil(Math.log2(Math.max(32, BITS_PER_CELL * cells)))
    this.#mask = bits - 1
    this.#now = new Int32Array(bits / 32)
    this.#before = new Int32Array(bits / 32)
  }

  has(key: FlowKey): boolean {
    if (!this.#isIn(this.#now, key)) return this.#isIn(this.#before, key)
    key.generation = this.#generation
    return true
  }

  add(key: FlowKey): void {
    // No bit is cleared before the generation ends.
    if (key.generation === this.#generation) return
    const { a, b } = key
    for (let probe = 0; probe < PLACES; probe++) {
      const bit = this.#bit(a, b, probe)
      const word = this.#now[bit >>> 5]!
      const more = word | (1 << (bit & 31))
      if (more === word) continue
      this.#now[bit >>> 5] = more
      this.#set++
    }
    // Rotations may be rare, or never occur.
    if (this.#set > 2 * CROWDED * this.#mask) this.#end(false)
  }

  /** `rotations` have passed. A flow that was not served in two generations is forgotten. */
  rotate(rotations: number): void {
    this.#rotations += rotations
    if (this.#rotations < ROTATIONS && this.#set < CROWDED * this.#mask) return
    this.#end(this.#rotations >= 2 * ROTATIONS)
  }

  /** The generation is over; the one before is forgotten, and if `forget`, both are. */
  #end(forget: boolean): void {
    this.#generation++
    this.#rotations = this.#set = 0
    const spent = this.#before
    this.#before = this.#now
    this.#now = spent
    spent.fill(0)
    if (forget) this.#before.fill(0)
  }

  #isIn(filter: Int32Array, { a, b }: FlowKey): boolean {
    for (let probe = 0; probe < PLACES; probe++) {
      const bit = this.#bit(a, b, probe)
      if ((filter[bit >>> 5]! & (1 << (bit & 31))) === 0) return false
    }
    return true
  }

  #bit(a: number, b: number, probe: number): number {
    return mix32(b + Math.imul(a, 2 * probe + 1)) & this.#mask
  }
}

/** Outcomes decay over about this many seconds. */
const MEMORY_SECONDS = 10
/** A flow's failures are its own if they are certainly more than this many times the usual share of its outcomes. */
const TIMES = 2
/**
 * With fewer successes in total there is no comparison; and a flow without any is judged by itself once it has this
 * number of outcomes, and together with other new names before.
 */
const LEAST_SEEN = 3
/** Weights grow with time, instead of all counts decaying; they are rescaled before the sketch's numbers overflow. */
const MOST_AGE = -2 * Math.log(LEAST_RATE)

/**
 * Attributes failures. A failure caused by the flow itself, by its own quota, a broken client, an attack, says nothing
 * about the resource. It is detected by comparison: the flow fails far more often than the flows that are served. For
 * each success, the failure share of its flow without the success itself is taken, and their mean is the usual share.
 * Flows without a recent success are judged together until they have some outcomes of their own.
 *
 * Counts lie in a sketch, of which the least shared cell is read. O(1), nothing allocated, 128 KiB at 4096 cells.
 */
export class OwnFailures {
  /** Of each cell the outcomes and the failures, side by side. */
  readonly #counts: Float32Array
  readonly #mask: number
  readonly #seen = { outcomes: 0, failures: 0 }
  readonly #unknown = { outcomes: 0, failures: 0 }
  /** The counts of the last reported flow. */
  readonly #flow = { outcomes: 0, failures: 0 }
  #begin = Number.NaN
  /** The weight of an outcome at this time. */
  #now = Number.NaN
  #weightNow = 1
  /** Failure rate of the last reported flow: by the outcomes before this one, plus one with the usual share. */
  expected = 0

  /** `cells`: number on each level, rounded up to a power of two. */
  constructor(cells: number) {
    const size = 2 ** Math.ceil(Math.log2(cells))
    this.#mask = size - 1
    this.#counts = new Float32Array(2 * PLACES * size)
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
    const counts = this.#counts
    let least = Number.POSITIVE_INFINITY
    let failed = 0
    for (let level = 0; level < PLACES; level++) {
      const cell = 2 * (level * (this.#mask + 1) + (mix32(a + Math.imul(b, 2 * level + 1)) & this.#mask))
      const sum = counts[cell]! + outcomes
      counts[cell] = sum
      if (failures > 0) counts[cell + 1]! += failures
      if (sum < least) {
        least = sum
        failed = counts[cell + 1]!
      }
    }
    this.#flow.outcomes = least
    this.#flow.failures = failed
  }

  #weight(now: number): number {
    if (now === this.#now) return this.#weightNow
    this.#now = now
    if (Number.isNaN(this.#begin)) this.#begin = now
    let age = (now - this.#begin) / MEMORY_SECONDS
    if (age > MOST_AGE) {
      const scale = Math.exp(-age)
      for (let i = 0; i < this.#counts.length; i++) this.#counts[i]! *= scale
      for (const counts of [this.#seen, this.#unknown]) {
        counts.outcomes *= scale
        counts.failures *= scale
      }
      this.#begin = now
      age = 0
    }
    this.#weightNow = Math.exp(age)
    return this.#weightNow
  }
}

/** True if the failures among the outcomes are far more than the usual share. */
function stands(failures: number, outcomes: number, usual: number): boolean {
  const expected = usual * outcomes
  const beyond = failures - expected
  return failures > TIMES * expected && beyond > VERY_SURE * Math.sqrt(expected * (1 - usual) + GRAIN)
}
