import type { Lane } from './lane.js'

/** Powers of two that are told apart; what is smaller or larger counts with the last. */
const LEAST_EXPONENT = -64
const CLASSES = 192

/**
 * Lanes by what waits in them per weight, to powers of two, so that a fattest one is found at once: never less than
 * half as fat as the very fattest. O(1) per change.
 */
export class Fattest<T> {
  /** Lanes of each class; class 0 is nothing waiting, and is not kept. */
  readonly #classes: Lane<T>[][] = Array.from({ length: CLASSES }, () => [])
  #top = 0

  /** What waits in a lane, or its weight, has changed. */
  update(lane: Lane<T>): void {
    const size = lane.count === 0 ? 0 : sizeOf(lane.cost / lane.weight)
    if (size === lane.size) return
    if (lane.size > 0) this.#delete(lane)
    lane.size = size
    if (size === 0) return
    const peers = this.#classes[size]!
    lane.sizeIndex = peers.length
    peers.push(lane)
    if (size > this.#top) this.#top = size
  }

  /** A lane of the fattest class; `undefined` if nothing waits. */
  find(): Lane<T> | undefined {
    while (this.#top > 0 && this.#classes[this.#top]!.length === 0) this.#top--
    return this.#classes[this.#top]!.at(-1)
  }

  /** The last of its class takes its place. */
  #delete(lane: Lane<T>): void {
    const peers = this.#classes[lane.size]!
    const last = peers.pop()!
    if (last === lane) return
    peers[lane.sizeIndex] = last
    last.sizeIndex = lane.sizeIndex
  }
}

const float = new Float64Array(1)
const halves = new Uint32Array(float.buffer)
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0

/** The class of a positive number: its binary exponent, read from its bits. */
function sizeOf(value: number): number {
  float[0] = value
  const exponent = (halves[HIGH]! >>> 20) - 1023
  return Math.max(1, Math.min(CLASSES - 1, exponent - LEAST_EXPONENT))
}
