import type { Words } from '../hash.js'
import type { Buckets } from './buckets.js'
import { Lane } from './lane.js'
import type { Lanes } from './lanes.js'

/**
 * A line for every flow that waits: below the root, or with `buckets` in one of SFQ's queues.
 *
 * A flow waits in one queue at a time. The queue is chosen when it starts to wait and kept until nothing of it waits
 * (or everything is dealt anew), so its requests keep their order, it has one weight, and a heavy flow is not served
 * as several.
 */
export class FlowLanes<T> implements Lanes<T> {
  readonly #root: Lane<T>
  readonly #buckets: Buckets<T> | undefined
  readonly #lanes = new Map<string, Lane<T>>()

  constructor(root: Lane<T>, buckets: Buckets<T> | undefined) {
    this.#root = root
    this.#buckets = buckets
  }

  get records(): number {
    return this.#lanes.size
  }

  find(flow: string): Lane<T> | undefined {
    return this.#lanes.get(flow)
  }

  open(flow: string, weight: number): Lane<T> {
    const lane = new Lane(flow, weight, this.#buckets?.pick(flow) ?? this.#root)
    this.#lanes.set(flow, lane)
    return lane
  }

  came(): void {}

  left(): void {}

  forget(lane: Lane<T>): void {
    this.#lanes.delete(lane.flow)
  }

  /**
   * Credit, debt and newness go with the flow, in order of their oldest requests. The queues start from the sum of
   * what their flows bring; a flow that was alone brings its queue's deficit, which was its own.
   */
  rehome(queues: number, key: Words | undefined): void {
    const buckets = this.#buckets
    if (buckets === undefined) return
    const moves = [...this.#lanes.values()].sort((x, y) => ageOf(x) - ageOf(y)).map(moveOf)
    buckets.renew(queues, key)
    for (const move of moves) settleIn(move, buckets.pick(move.lane.flow))
    buckets.dealt()
  }
}

interface Move<T> {
  readonly lane: Lane<T>
  readonly deficit: number
  readonly place: 'fresh' | 'old'
}

function ageOf<T>(lane: Lane<T>): number {
  return lane.requests.first?.sequence ?? Number.MAX_SAFE_INTEGER
}

function moveOf<T>(lane: Lane<T>): Move<T> {
  const up = lane.up!
  const alone = up.count === lane.count && up.weight === lane.weight
  const deficit = alone ? up.deficit : lane.deficit
  return { lane, deficit, place: up.place === 'fresh' && lane.place === 'fresh' ? 'fresh' : 'old' }
}

/** Puts a flow's lane with all that waits in it into a queue. */
function settleIn<T>({ lane, deficit, place }: Move<T>, bucket: Lane<T>): void {
  lane.up = bucket
  lane.deficit = deficit
  lane.counted = 0
  lane.next = undefined
  lane.previous = undefined
  bucket.ring!.put(lane, place)
  bucket.count += lane.count
  bucket.cost += lane.cost
  bucket.deficit += deficit
  if (bucket.place === 'out') bucket.up!.ring!.put(bucket, place)
  lane.recount()
  bucket.recount()
  bucket.up!.count += lane.count
  bucket.up!.cost += lane.cost
}
