import type { Lane, Request } from './lane.js'

/**
 * The smallest binary exponent with its own class; smaller sizes share it, and sizes above the last class share that
 * one.
 */
const LEAST_EXPONENT = -64
const CLASSES = 192

/**
 * Finds the longest queue in constant time: lanes by their waiting cost per weight, in classes of powers of two, so the
 * lane found is at least half as long as the longest. O(1) per change.
 */
export class LongestQueue<T> {
  /** The lanes of each class. Class 0 is for empty lanes, and is not kept. */
  readonly #classes: Lane<T>[][] = [[]]
  #top = 0

  /** A lane's waiting cost or its weight has changed. */
  update(lane: Lane<T>): void {
    const sizeClass = lane.count === 0 ? 0 : sizeClassOf(lane.cost / lane.weight)
    if (sizeClass === lane.sizeClass) return
    if (lane.sizeClass > 0) this.#delete(lane)
    lane.sizeClass = sizeClass
    if (sizeClass === 0) return
    let peers = this.#classes[sizeClass]
    if (peers === undefined) {
      for (let at = this.#classes.length; at <= sizeClass; at++) this.#classes.push([])
      peers = this.#classes[sizeClass]!
    }
    lane.sizeIndex = peers.length
    peers.push(lane)
    if (sizeClass > this.#top) this.#top = sizeClass
  }

  /** A lane of the highest class; `undefined` if nothing waits. */
  find(): Lane<T> | undefined {
    while (this.#top > 0 && this.#classes[this.#top]!.length === 0) this.#top--
    return this.#classes[this.#top]!.at(-1)
  }

  /** The last lane of the class takes its place. */
  #delete(lane: Lane<T>): void {
    const peers = this.#classes[lane.sizeClass]!
    const last = peers.pop()!
    if (last === lane) return
    peers[lane.sizeIndex] = last
    last.sizeIndex = lane.sizeIndex
  }
}

/**
 * The last request of a longest flow, unless `lanes`, those of a request of this cost from the first level on, would be
 * as long with it. The comparison is between lanes with the same parent: accounts, then keys of an account.
 */
export function victimOf<T>(root: Lane<T>, lanes: readonly Sized<T>[], cost: number): Request<T> | undefined {
  let above = root
  for (const { lane, weight } of lanes) {
    const longest = above.longest?.find()
    if (longest === undefined) return undefined
    if (longest !== lane && longest.cost / longest.weight > ((lane?.cost ?? 0) + cost) / weight) return lastOf(longest)
    if (lane === undefined) return undefined
    above = lane
  }
  return above.cost / above.weight > (above.cost + cost) / lanes.at(-1)!.weight ? above.lastInTurn : undefined
}

/** The lane of a flow at one level, if there is one, and its present weight. */
export interface Sized<T> {
  readonly lane: Lane<T> | undefined
  readonly weight: number
}

function lastOf<T>(longest: Lane<T>): Request<T> | undefined {
  let lane: Lane<T> | undefined = longest
  while (lane?.ring !== undefined) lane = lane.longest?.find()
  return lane?.lastInTurn
}

const float = new Float64Array(1)
const halves = new Uint32Array(float.buffer)
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0

/** The class of a positive number: its binary exponent, read from its bits. */
function sizeClassOf(value: number): number {
  float[0] = value
  const exponent = (halves[HIGH]! >>> 20) - 1023
  return Math.max(1, Math.min(CLASSES - 1, exponent - LEAST_EXPONENT))
}
