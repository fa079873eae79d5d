import { keyFrom } from '../hash.js'
import { requireFunction, requireText, show } from '../options.js'
import type { Random } from '../random.js'
import { Buckets } from './buckets.js'
import { Fattest } from './fattest.js'
import { FlowLanes } from './flow-lanes.js'
import { type IsLive, Lane } from './lane.js'
import type { Lanes } from './lanes.js'
import { AUTO_QUEUES, type FairQueueOptions, keyOf, requireCost, settingsOf, weightFrom } from './options.js'
import { Pace } from './pace.js'
import { QueueLanes } from './queue-lanes.js'
import { type Refused, Request, type Standing, type Ticket } from './request.js'
import { Ring, type RingRules } from './ring.js'
import type { FairQueueSnapshot } from './snapshot.js'

const MOST_AUTO_QUEUES = 4096

/** Whether a request is still wanted: as it was put, and as lanes ask it. */
interface Question<T> {
  readonly isDead: (item: T) => boolean
  readonly isLive: IsLive<T>
}

/**
 * Whose turn is it? Holds requests that wait, and hands them out so that every flow gets its share of the *cost* that
 * is served, whatever the others ask for. A plain data structure: no clock, timer, or promise.
 *
 * Flows take turns by deficit round robin, see `Ring`; the requests of a flow keep their order. With
 * `queues: 'perFlow'` that is exact. With a number of queues it is Stochastic Fairness Queueing: flows are dealt to
 * queues by a hash, queues take turns, and so do the flows inside a queue, unless it is served in order of arrival.
 * Beside a record per waiting flow a fixed number of queues saves nothing; it is for those who need that number, and in
 * the forms without such records (`choose: 'first' | 'shortest'` with `inside: 'arrival'`) memory is constant but for
 * the requests themselves. `'shortest'` in that form may spread a flow over its hand: then its order is not kept.
 *
 * All operations are O(1) amortised, but for a perturbation, which sorts what waits; memory is in proportion to what
 * waits. A record outlives its flow's last request while it owes, and for one round after it was served.
 */
export class FairQueue<T> {
  readonly #root: Lane<T> = new Lane<T>('', 0, undefined)
  readonly #pace = new Pace()
  readonly #lanes: Lanes<T>
  readonly #buckets: Buckets<T> | undefined
  readonly #fattest: Fattest<T> | undefined
  readonly #auto: boolean
  readonly #weightOf: ((flow: string) => number) | undefined
  readonly #perFlowLimit: number
  readonly #maxWaiting: number
  readonly #random: Random
  #sequence = 0
  #refused = 0
  #dequeued = 0
  #removed = 0
  #evicted = 0
  #dead = 0
  #perturbations = 0
  #question: Question<T> | undefined = undefined

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairQueueOptions = {}) {
    const { queues, hand, choose, inside, sparseFirst, weightOf, perFlowLimit, maxWaiting, overflow, key, random } =
      settingsOf(options)
    this.#auto = queues === 'auto'
    this.#weightOf = weightOf
    this.#perFlowLimit = perFlowLimit
    this.#maxWaiting = maxWaiting
    this.#random = random
    const rules: RingRules<T> = { pace: this.#pace, sparseFirst, left: (lane) => this.#lanes.forget(lane) }
    if (queues === 'perFlow') {
      this.#root.ring = new Ring(this.#root, rules)
      this.#lanes = new FlowLanes(this.#root, undefined)
    } else {
      const count = queues === 'auto' ? AUTO_QUEUES : queues
      this.#buckets = new Buckets(this.#root, rules, { choose, inside, hand }, count, key, random)
      this.#lanes =
        inside === 'turns'
          ? new FlowLanes(this.#root, this.#buckets)
          : new QueueLanes(this.#buckets, choose === 'foreign')
    }
    if (overflow === 'evict') this.#fattest = new Fattest()
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#root.count
  }

  /** Their cost. */
  get cost(): number {
    return this.#root.cost
  }

  /**
   * Takes a request of `flow` in, or refuses it because too many wait. `cost` is from 1e-9 to 1e12, in the units of the
   * service. If another request had to leave for it, that is the ticket's `evicted`, and the caller must turn it away.
   *
   * Throws, and changes nothing, on an empty flow, a bad cost, or if `weightOf` throws or gives a bad weight.
   */
  enqueue(flow: string, item: T, cost = 1): Ticket<T> | Refused {
    requireText('flow', flow)
    requireCost('cost', cost)
    const weight = this.#weigh(flow)
    let lane = this.#lanes.find(flow)
    if (lane !== undefined && lane.count >= this.#perFlowLimit)
      return this.#refuse('flow-full', this.#perFlowLimit, lane, weight)
    let evicted: Request<T> | undefined
    if (this.#root.count >= this.#maxWaiting) {
      evicted = this.#victim(((lane?.cost ?? 0) + cost) / weight)
      if (evicted === undefined) return this.#refuse('full', this.#maxWaiting, lane, weight)
      this.#evicted++
      this.#leave(evicted)
      // What it left behind may have gone with it: a queue that empties forgets the flows that only passed.
      lane = this.#lanes.find(flow)
    }
    const request = new Request(flow, item, cost, this.#sequence++)
    request.evicted = evicted
    this.#pace.see(cost)
    lane ??= this.#lanes.open(flow, weight)
    if (lane.weight !== weight && this.#weightOf !== undefined) {
      lane.weight = weight
      lane.recount()
    }
    lane.add(request)
    this.#lanes.came(request, lane)
    this.#fattest?.update(lane)
    if (this.#buckets !== undefined) this.#watch(this.#buckets, lane)
    return request
  }

  /**
   * The next request, charged its cost; `undefined` if none waits. Then what was owed is forgiven, and no record left.
   *
   * Those at whose turn `isDead` says that they are no longer wanted are dropped instead: they cost nobody credit or a
   * turn, and their flow goes on with its next. It may be asked about the same request again, until it says yes; it may
   * use this queue, and if it throws nothing is lost.
   */
  dequeue(isDead?: (item: T) => boolean): Ticket<T> | undefined {
    const request = this.#root.head(isDead && this.#isLive(isDead))
    if (request === undefined) {
      // All turns could pass at once, and nobody would mind.
      this.#root.ring!.clear()
      return undefined
    }
    this.#dequeued++
    request.served = true
    request.lane!.charge(request.cost)
    this.#pace.learn(request.cost)
    this.#leave(request)
    return request
  }

  /**
   * The request that `dequeue` would give, still waiting; another once something came, left, or was settled. Drops
   * those that are no longer wanted, as `dequeue` does: without `isDead`, one of them could be shown.
   *
   * Flows of whose next request `mayStart` says no are passed over, and their turn is lost, unless that is so of all.
   */
  peek(isDead?: (item: T) => boolean, mayStart?: (item: T) => boolean): Ticket<T> | undefined {
    return this.#root.head(isDead && this.#isLive(isDead), mayStart)
  }

  /**
   * From now until nothing of it waits, the flow's turns go to its newest request. What its turns are worth stays the
   * same. Where nothing of it waits, or flows share a line (`inside: 'arrival'`), this does nothing.
   */
  takeNewest(flow: string): void {
    const lane = this.#lanes.find(flow)
    if (lane !== undefined && lane.flow === flow && lane.count > 0) lane.newestFirst = true
  }

  /** Takes a request out before its turn; false if it had left already. Throws a `TypeError` on another's ticket. */
  remove(ticket: Ticket<T>): boolean {
    const request = this.#own(ticket)
    if (request.lane === undefined) return false
    this.#removed++
    this.#leave(request)
    return true
  }

  /**
   * Says what a request that was dequeued really cost, from 0 to 1e12. Its flow (in arrival order, its queue) is
   * charged the difference, or gets it back if anything of it still waits. A charge beyond its credit is a debt that
   * its next turns pay, even if nothing of it waits. Of several figures the last counts; of a request that was never
   * dequeued, none does.
   */
  settle(ticket: Ticket<T>, actualCost: number): void {
    requireCost('actualCost', actualCost, 0)
    const request = this.#own(ticket)
    const change = actualCost - request.cost
    if (!request.served || change === 0) return
    let lane = this.#lanes.find(request.flow)
    if (lane === undefined && change > 0) lane = this.#lanes.open(request.flow, this.#weigh(request.flow))
    request.cost = actualCost
    lane?.correct(change)
  }

  /**
   * Deals all that waits to SFQ's queues anew, by another seed, so that flows that shared a queue no longer do. Every
   * flow keeps its order, its credit and its debts; nothing is refused. With `'perFlow'` it does nothing.
   */
  perturb(seed?: number): void {
    const key = seed === undefined ? keyFrom(this.#random) : keyOf(seed)
    const buckets = this.#buckets
    if (buckets === undefined) return
    const { length } = buckets.lanes
    const shrinks = this.#auto && length > AUTO_QUEUES && buckets.crowding.sparse
    this.#perturbations++
    this.#lanes.rehome(shrinks ? length / 2 : length, key)
  }

  /** How `flow` stands now. Changes nothing. */
  standing(flow: string): Standing {
    requireText('flow', flow)
    return this.#standing(this.#lanes.find(flow), this.#weigh(flow))
  }

  /** Plain JSON for people, metrics and pages. */
  snapshot(): FairQueueSnapshot {
    const buckets = this.#buckets
    return {
      waiting: this.#root.count,
      cost: this.#root.cost,
      records: this.#lanes.records,
      quantum: this.#sequence === 0 ? 0 : this.#pace.quantum,
      enqueued: this.#sequence,
      refused: this.#refused,
      dequeued: this.#dequeued,
      removed: this.#removed,
      evicted: this.#evicted,
      dead: this.#dead,
      sfq: buckets && {
        queues: buckets.lanes.length,
        perturbations: this.#perturbations,
        lengths: buckets.lanes.map(({ count }) => count),
        occupied: buckets.crowding.occupied,
        crowded: buckets.crowding.crowded,
      },
    }
  }

  #weigh(flow: string): number {
    return this.#weightOf === undefined ? 1 : weightFrom(this.#weightOf, flow)
  }

  #own(ticket: Ticket<T>): Request<T> {
    if (!(ticket instanceof Request)) throw new TypeError(`ticket must come from enqueue, got ${show(ticket)}`)
    const request: Request<T> = ticket
    let lane = request.lane
    while (lane?.up !== undefined) lane = lane.up
    if (lane !== undefined && lane !== this.#root) throw new TypeError('ticket must come from this queue')
    return request
  }

  /** Made once for each `isDead`: whoever asks whose turn it is asks for every request. */
  #isLive(isDead: (item: T) => boolean): IsLive<T> {
    if (this.#question?.isDead !== isDead) this.#question = this.#put(isDead)
    return this.#question.isLive
  }

  /** Apart from `#isLive`, which would make room for this closure at every call. */
  #put(isDead: (item: T) => boolean): Question<T> {
    requireFunction('isDead', isDead)
    return { isDead, isLive: (request) => this.#keeps(request, isDead) }
  }

  #keeps(request: Request<T>, isDead: (item: T) => boolean): boolean {
    if (!isDead(request.item)) return true
    if (request.lane !== undefined) {
      this.#dead++
      this.#leave(request)
    }
    return false
  }

  #leave(request: Request<T>): void {
    const lane = request.lane!
    request.evicted = undefined
    lane.delete(request)
    this.#lanes.left(request)
    this.#fattest?.update(lane)
    this.#buckets?.left(lane)
  }

  /** What a fattest flow would serve last, if that is fatter than `size`, in cost per weight. */
  #victim(size: number): Request<T> | undefined {
    const lane = this.#fattest?.find()
    return lane !== undefined && lane.cost / lane.weight > size ? lane.lastInTurn : undefined
  }

  /** Counts an arrival, and grows when too many queues are occupied. */
  #watch(buckets: Buckets<T>, lane: Lane<T>): void {
    buckets.came(lane)
    const { length } = buckets.lanes
    if (this.#auto && buckets.crowding.crowded && length < MOST_AUTO_QUEUES) this.#lanes.rehome(2 * length, buckets.key)
  }

  #refuse(refused: Refused['refused'], limit: number, lane: Lane<T> | undefined, weight: number): Refused {
    this.#refused++
    return { refused, limit, ...this.#standing(lane, weight) }
  }

  #standing(lane: Lane<T> | undefined, weight: number): Standing {
    // Sums of weights that are far apart are not exact.
    const others = Math.max(0, this.#root.weight - (lane?.counted ?? 0))
    return { waiting: lane?.count ?? 0, cost: lane?.cost ?? 0, share: weight / (others + weight) }
  }
}
