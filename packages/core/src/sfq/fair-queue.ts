import { keyFrom, type Words } from '../hash.js'
import { requireFunction, requireInteger, requireText, show } from '../options.js'
import type { Random } from '../random.js'
import { LearnedCosts } from './costs.js'
import { HashedQueues } from './hashed-queues.js'
import { ArrivalLanes, FlowLanes, type Lanes } from './lanes.js'
import { LongestQueue } from './longest-queue.js'
import {
  AUTO_QUEUES,
  type FairQueueOptions,
  fairQueueSettings,
  MOST_SEED,
  requireCost,
  weightInSteps,
} from './options.js'
import { Quantum } from './quantum.js'
import { type IsLive, Lane, Request, Ring, type RingRules, type Ticket } from './ring.js'

const MOST_AUTO_QUEUES = 4096

/** How a flow stands: what it has waiting, and its part of the service. */
export interface Standing {
  /** Requests of the flow that wait; in arrival order, those of the queue that its next one would join. */
  readonly waiting: number
  /** What they are expected to cost. */
  readonly cost: number
  /** Its weight over the weights of all that wait or owe, itself included: above 0, at most 1. */
  readonly share: number
}

/** A request that was not taken in. Nothing of it is kept. */
export interface Refused extends Standing {
  /** `flow-full`: its flow (in arrival order, its queue) is at its limit; `full`: the whole queue is. */
  readonly refused: 'flow-full' | 'full'
  /** The bound that it met, in requests. */
  readonly limit: number
}

/** A queue's state, as plain JSON. Every request ever enqueued waits, or has left in exactly one of four ways. */
export interface FairQueueSnapshot {
  /** Requests that wait, and their cost. */
  readonly waiting: number
  readonly cost: number
  /** Flows of which something is remembered. */
  readonly records: number
  /** Cost that a turn is worth to weight 1. */
  readonly quantum: number
  readonly enqueued: number
  readonly refused: number
  readonly dequeued: number
  readonly removed: number
  readonly evicted: number
  /** Taken off because `isDead` said so. */
  readonly dead: number
  /** SFQ only. */
  readonly sfq: SfqSnapshot | undefined
}

/** The state of SFQ's queues. */
export interface SfqSnapshot {
  readonly queues: number
  readonly perturbations: number
  /** Requests that wait in each queue. */
  readonly lengths: readonly number[]
  /** Queues with at least four requests. */
  readonly occupied: number
  /** More than a third of the queues has been occupied at each of the last 256 arrivals: too few queues. */
  readonly crowded: boolean
}

/** The `isDead` of a caller, and the question that lanes ask with it. */
interface Question<T> {
  readonly isDead: (item: T) => boolean
  readonly isLive: IsLive<T>
}

/**
 * Whose turn is it? Holds waiting requests, and hands them out so that every flow gets its share of the *cost* that is
 * served, whatever the others ask for. A plain data structure: no clock, timer, or promise.
 *
 * Flows take turns by deficit round robin, see `Ring`; the requests of a flow keep their order. With
 * `queues: 'perFlow'` that is exact. With a number of queues it is Stochastic Fairness Queueing: flows are dealt to
 * queues by a hash, queues take turns, and so do the flows inside a queue, unless it is served in order of arrival.
 * A fixed number of queues saves nothing beside a record per waiting flow. Only `choose: 'first' | 'shortest'` with
 * `inside: 'arrival'` needs no such records: memory is constant, apart from the requests themselves. `'shortest'` in
 * that form may spread a flow over its hand, and then does not keep its order.
 *
 * All operations are O(1) amortised, except a perturbation, which sorts what waits; memory is in proportion to the
 * waiting requests. A flow's record outlives its last request while it owes, and for one round after it was served.
 */
export class FairQueue<T> {
  readonly #root: Lane<T> = new Lane<T>('', 0, undefined)
  readonly #quantum = new Quantum()
  readonly #costs = new LearnedCosts()
  readonly #learns: boolean
  readonly #lanes: Lanes<T>
  readonly #queues: HashedQueues<T> | undefined
  readonly #longest: LongestQueue<T> | undefined
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
  /** How often all debts were forgiven. */
  #era = 0
  #question: Question<T> | undefined = undefined

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairQueueOptions = {}) {
    const settings = fairQueueSettings(options)
    const { queues, hand, choose, inside, sparseFirst, weightOf, perFlowLimit, maxWaiting, overflow, seed, random } =
      settings
    this.#learns = settings.estimates === 'learned'
    this.#auto = queues === 'auto'
    this.#weightOf = weightOf
    this.#perFlowLimit = perFlowLimit
    this.#maxWaiting = maxWaiting
    this.#random = random
    const rules: RingRules<T> = {
      quantum: this.#quantum,
      costs: this.#costs,
      sparseFirst,
      left: (lane) => this.#lanes.forget(lane),
    }
    if (queues === 'perFlow') {
      this.#root.ring = new Ring(this.#root, rules)
      this.#lanes = new FlowLanes(this.#root, undefined)
    } else {
      const count = queues === 'auto' ? AUTO_QUEUES : queues
      this.#queues = new HashedQueues(
        this.#root,
        rules,
        { choose, inside, hand },
        count,
        seed === undefined ? undefined : keyOf(seed),
        random,
      )
      this.#lanes =
        inside === 'turns'
          ? new FlowLanes(this.#root, this.#queues)
          : new ArrivalLanes(this.#queues, choose === 'foreign')
    }
    if (overflow === 'evict') this.#longest = new LongestQueue()
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#root.count
  }

  /** What they are expected to cost. */
  get cost(): number {
    return this.#costs.ofAll(this.#root.cost, this.#root.count)
  }

  /**
   * Takes a request of `flow` in, or refuses it because too many wait. `cost` is from 1e-9 to 1e12, in the units of the
   * service. If it evicted another request, that is the ticket's `evicted`, and the caller must turn it away.
   *
   * If it is {@link settle}d later, what requests of its flow really cost is learnt, apart for each `kind`: a route, a
   * model; up to 16 kinds of each of 10 000 flows.
   *
   * Throws, and changes nothing, on an empty flow, a bad cost, or if `weightOf` throws or gives a bad weight.
   */
  enqueue(flow: string, item: T, cost = 1, kind = ''): Ticket<T> | Refused {
    requireText('flow', flow)
    requireCost('cost', cost)
    const weight = this.#weigh(flow)
    let lane = this.#lanes.find(flow)
    if (lane !== undefined && lane.count >= this.#perFlowLimit)
      return this.#refuse('flow-full', this.#perFlowLimit, flow, lane, weight)
    let evicted: Request<T> | undefined
    if (this.#root.count >= this.#maxWaiting) {
      evicted = this.#victim(((lane?.cost ?? 0) + cost) / weight)
      if (evicted === undefined) return this.#refuse('full', this.#maxWaiting, flow, lane, weight)
      this.#evicted++
      this.#leave(evicted)
      // The flow's lane may have gone with it: a queue that empties forgets the flows that had nothing waiting.
      lane = this.#lanes.find(flow)
    }
    const request = new Request(flow, item, cost, kind, this.#sequence++)
    request.evicted = evicted
    this.#quantum.see(cost)
    lane ??= this.#lanes.open(flow, weight)
    if (lane.weight !== weight && this.#weightOf !== undefined) {
      lane.weight = weight
      lane.recount()
    }
    lane.add(request)
    this.#lanes.added(request, lane)
    this.#longest?.update(lane)
    if (this.#queues !== undefined) this.#watch(this.#queues, lane)
    return request
  }

  /**
   * The next request, charged its cost. `undefined` if none waits: then all debts are forgiven, and no record is left.
   *
   * A request that `isDead` calls dead at its turn is dropped instead: it costs its flow neither credit nor the turn,
   * and the flow goes on with its next. `isDead` may be asked about the same request again until it says yes; it may
   * use this queue, and if it throws nothing is lost.
   */
  dequeue(isDead?: (item: T) => boolean): Ticket<T> | undefined {
    const request = this.#root.head(isDead && this.#isLive(isDead))
    if (request === undefined) {
      // All turns could pass at once without a difference.
      this.#root.ring!.clear()
      this.#era++
      return undefined
    }
    this.#dequeued++
    request.served = true
    request.era = this.#era
    this.#quantum.learn(request.expected(this.#costs))
    request.cost = this.#costs.cautious(request.flow, request.kind, request.declared)
    request.lane!.charge(request.cost)
    this.#leave(request)
    return request
  }

  /**
   * The request that `dequeue` would give, still waiting; another once something arrived, left, or was settled. Drops
   * dead requests, as `dequeue` does.
   *
   * A flow whose next request `mayStart` turns down is passed over and loses its turn, unless all are turned down.
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
   * Tells what a request that was dequeued and still runs has cost so far, from 0 to 1e12: its flow is charged what that
   * is more than what it was charged already. Has no effect on others.
   */
  charge(ticket: Ticket<T>, costSoFar: number): void {
    requireCost('costSoFar', costSoFar, 0)
    const request = this.#own(ticket)
    if (request.served && !request.settled && costSoFar > request.cost) this.#correct(request, costSoFar)
  }

  /**
   * Tells the real cost of a request that was dequeued, from 0 to 1e12. Its flow (in arrival order, its queue) is
   * charged the difference, or gets it back if anything of it still waits. A charge beyond its credit is a debt that
   * its next turns pay, even if nothing of it waits. If called more than once, the last figure counts, and the first is
   * learnt, unless `teaches` is false; settling a request that was never dequeued has no effect. Settle all requests of a queue or none: while some
   * cost more than they declare, a request that is not settled stays charged as cautiously as one that runs.
   */
  settle(ticket: Ticket<T>, actualCost: number, teaches = true): void {
    requireCost('actualCost', actualCost, 0)
    const request = this.#own(ticket)
    if (!request.served) return
    if (!request.settled) {
      request.settled = true
      if (teaches) this.learn(request.flow, request.declared, actualCost, request.kind)
    }
    if (actualCost !== request.cost) this.#correct(request, actualCost)
  }

  /** What a request of `flow` that declares `cost` is expected to cost, as far as that has been learnt. */
  expected(flow: string, cost: number, kind = ''): number {
    return this.#costs.expected(flow, kind, cost)
  }

  /** Learns what a request has cost that never was in the queue, because it did not need to wait. */
  learn(flow: string, cost: number, actualCost: number, kind = ''): void {
    if (this.#learns) this.#costs.learn(flow, kind, cost, actualCost)
  }

  /**
   * Deals all waiting requests to SFQ's queues anew, by another seed, so that flows no longer share the same queues. Every
   * flow keeps its order, its credit and its debts; nothing is refused. With `'perFlow'` it does nothing.
   */
  perturb(seed?: number): void {
    const key = seed === undefined ? keyFrom(this.#random) : keyOf(seed)
    const queues = this.#queues
    if (queues === undefined) return
    const { length } = queues.lanes
    const shrinks = this.#auto && length > AUTO_QUEUES && queues.occupancy.sparse
    this.#perturbations++
    this.#lanes.rehome(shrinks ? length / 2 : length, key)
  }

  /** How `flow` stands now. Changes nothing. */
  standing(flow: string): Standing {
    requireText('flow', flow)
    return this.#standing(flow, this.#lanes.find(flow), this.#weigh(flow))
  }

  /** Plain JSON for people, metrics and pages. */
  snapshot(): FairQueueSnapshot {
    const queues = this.#queues
    return {
      waiting: this.#root.count,
      cost: this.#root.cost,
      records: this.#lanes.records,
      quantum: this.#sequence === 0 ? 0 : this.#quantum.value,
      enqueued: this.#sequence,
      refused: this.#refused,
      dequeued: this.#dequeued,
      removed: this.#removed,
      evicted: this.#evicted,
      dead: this.#dead,
      sfq: queues && {
        queues: queues.lanes.length,
        perturbations: this.#perturbations,
        lengths: queues.lanes.map(({ count }) => count),
        occupied: queues.occupancy.occupied,
        crowded: queues.occupancy.crowded,
      },
    }
  }

  #weigh(flow: string): number {
    return this.#weightOf === undefined ? 1 : weightInSteps(this.#weightOf, flow)
  }

  /** A request has cost, or costs, this instead of what its flow was charged for it. */
  #correct(request: Request<T>, cost: number): void {
    const change = cost - request.cost
    let lane = this.#lanes.find(request.flow)
    if (lane === undefined && change > 0) lane = this.#lanes.open(request.flow, this.#weigh(request.flow))
    request.cost = cost
    // What was forgiven is not given back.
    if (change > 0 || request.era === this.#era) lane?.correct(change)
  }

  #own(ticket: Ticket<T>): Request<T> {
    if (!(ticket instanceof Request)) throw new TypeError(`ticket must come from enqueue, got ${show(ticket)}`)
    const request: Request<T> = ticket
    let lane = request.lane
    while (lane?.up !== undefined) lane = lane.up
    if (lane !== undefined && lane !== this.#root) throw new TypeError('ticket must come from this queue')
    return request
  }

  /** Made once per `isDead`, because a caller passes the same one with every call. */
  #isLive(isDead: (item: T) => boolean): IsLive<T> {
    if (this.#question?.isDead !== isDead) this.#question = this.#put(isDead)
    return this.#question.isLive
  }

  /** Apart from `#isLive`, which would otherwise allocate this closure's context at every call. */
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
    this.#longest?.update(lane)
    this.#queues?.left(lane)
  }

  /** The last request of a longest flow, if that flow is longer than `size`, in cost per weight. */
  #victim(size: number): Request<T> | undefined {
    const lane = this.#longest?.find()
    return lane !== undefined && lane.cost / lane.weight > size ? lane.lastInTurn : undefined
  }

  /** Counts an arrival, and grows when too many queues are occupied. */
  #watch(queues: HashedQueues<T>, lane: Lane<T>): void {
    queues.added(lane)
    const { length } = queues.lanes
    if (this.#auto && queues.occupancy.crowded && length < MOST_AUTO_QUEUES) this.#lanes.rehome(2 * length, queues.key)
  }

  #refuse(
    refused: Refused['refused'],
    limit: number,
    flow: string,
    lane: Lane<T> | undefined,
    weight: number,
  ): Refused {
    this.#refused++
    return { refused, limit, ...this.#standing(flow, lane, weight) }
  }

  #standing(flow: string, lane: Lane<T> | undefined, weight: number): Standing {
    // Sums of weights that are far apart are not exact.
    const others = Math.max(0, this.#root.weight - (lane?.counted ?? 0))
    const { count: waiting, cost: declared } = lane ?? NOTHING_WAITS
    return { waiting, cost: this.#costs.expected(flow, '', declared, waiting), share: weight / (others + weight) }
  }
}

const NOTHING_WAITS = { count: 0, cost: 0 }

function keyOf(seed: number): Words {
  requireInteger('seed', seed, 0, MOST_SEED)
  return { a: seed | 0, b: 0 }
}
