import type { Words } from '../hash.js'
import { type Flow, keyOf } from '../path.js'
import { TurnoverMap } from '../turnover-map.js'
import type { HashedQueues } from './hashed-queues.js'
import { Lane } from './lane.js'
import { LongestQueue } from './longest-queue.js'
import { Ring, type RingRules } from './ring.js'

/**
 * One lane per waiting flow: below the root or, given SFQ's `queues`, in one of them.
 *
 * A flow waits in one queue at a time. The queue is chosen when the flow starts to wait and kept until none of its
 * requests waits (or everything is reassigned), so its requests keep their order, it has one weight, and a heavy flow
 * is not served as if it were several.
 *
 * Above the lane of a path there is one for each of its prefixes, as long as a record is kept below it.
 */
export class FlowLanes<T> {
  readonly #root: Lane<T>
  readonly #queues: HashedQueues<T> | undefined
  readonly #rules: RingRules<T>
  readonly #lanes = new TurnoverMap<Lane<T>>()
  readonly #groups = new TurnoverMap<Lane<T>>()

  constructor(root: Lane<T>, queues: HashedQueues<T> | undefined, rules: RingRules<T>) {
    this.#root = root
    this.#queues = queues
    this.#rules = rules
  }

  /** Number of flows, and prefixes of paths, with a record. */
  get records(): number {
    return this.#lanes.entries.size + this.#groups.entries.size
  }

  /** The lane of the flow with this key, if there is one. */
  find(key: string): Lane<T> | undefined {
    return this.#lanes.entries.get(key)
  }

  /** The lane of all flows whose paths have this prefix. */
  group(beginning: Flow): Lane<T> | undefined {
    if (this.#groups.entries.size === 0) return undefined
    return this.#groups.entries.get(keyOf(typeof beginning === 'string' ? [beginning] : beginning))
  }

  /** Creates that lane, after `find` found none. `weights` are those of the flow's names, from the first level on. */
  open(flow: Flow, key: string, weights: readonly number[]): Lane<T> {
    let up = this.#queues?.pick(key) ?? this.#root
    if (typeof flow !== 'string')
      for (let level = 1; level < flow.length; level++)
        up = this.#openGroup(keyOf(flow.slice(0, level)), weights[level - 1]!, up)
    const lane = new Lane(key, weights[weights.length - 1]!, up)
    this.#lanes.set(key, lane)
    return lane
  }

  #openGroup(key: string, weight: number, up: Lane<T>): Lane<T> {
    const known = this.#groups.entries.get(key)
    if (known !== undefined) return known
    const group = new Lane(key, weight, up)
    group.ring = new Ring(group, this.#rules)
    if (this.#root.longest !== undefined) group.longest = new LongestQueue()
    this.#groups.set(key, group)
    return group
  }

  /** A lane is empty and out of its ring. */
  forget(lane: Lane<T>): void {
    if (lane.ring === undefined) this.#lanes.delete(lane.key)
    else this.#groups.delete(lane.key)
  }

  /**
   * Reassigns all flows to the queues: nothing is lost or refused, and every flow keeps its order.
   *
   * Credit, debt and newness go with the flow, in order of their oldest requests. The queues start from the sum of
   * their flows' credits; a flow that was alone takes its queue's deficit along, which was its own.
   */
  rehome(queues: number, key: Words | undefined): void {
    const hashed = this.#queues
    if (hashed === undefined) return
    const moves = [...this.#lanes.entries.values()].sort((x, y) => ageOf(x) - ageOf(y)).map(moveOf)
    hashed.renew(queues, key)
    for (const move of moves) settleIn(move, hashed.pick(move.lane.key))
    hashed.dealt()
  }
}

interface Move<T> {
  readonly lane: Lane<T>
  readonly deficit: number
  readonly place: 'new' | 'old'
}

function ageOf<T>(lane: Lane<T>): number {
  return lane.first?.sequence ?? Number.MAX_SAFE_INTEGER
}

function moveOf<T>(lane: Lane<T>): Move<T> {
  const up = lane.up!
  const alone = up.count === lane.count && up.weight === lane.weight
  const deficit = alone ? up.deficit : lane.deficit
  return { lane, deficit, place: up.place === 'new' && lane.place === 'new' ? 'new' : 'old' }
}

/** Moves a flow's lane with all its waiting requests into a queue. */
function settleIn<T>({ lane, deficit, place }: Move<T>, queue: Lane<T>): void {
  lane.up = queue
  lane.deficit = deficit
  lane.counted = 0
  lane.pooled = 0
  lane.passing = false
  lane.next = undefined
  lane.previous = undefined
  queue.ring!.put(lane, place)
  if (lane.count === 0) queue.ring!.keep(lane)
  queue.count += lane.count
  queue.cost += lane.cost
  queue.deficit += deficit
  if (queue.place === 'out') queue.up!.ring!.put(queue, place)
  else queue.up!.ring!.corrected(queue)
  lane.recount()
  queue.recount()
  queue.up!.count += lane.count
  queue.up!.cost += lane.cost
}
