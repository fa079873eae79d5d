import { keyFrom } from '../hash.js'
import { requireBoolean, requireFunction, show } from '../options.js'
import { type Flow, firstOf, keyOf, requireFlow } from '../path.js'
import type { Random } from '../random.js'
import { safeWeight, type WeightOf } from '../weight.js'
import { LearnedCosts, Quantum, Running } from './costs.js'
import { FlowLanes, HashedQueues } from './flow-lanes.js'
import { ALL_LEVELS, type IsLive, Lane, Request } from './lane.js'
import { LongestQueue, type Sized, victimOf } from './longest-queue.js'
import {
  AUTO_QUEUES,
  type FairQueueOptions,
  type FairQueueSnapshot,
  fairQueueSettings,
  type Refused,
  requireCost,
  type Standing,
  type Ticket,
  weightInSteps,
} from './options.js'
import { Ring, type RingRules } from './ring.js'

const MOST_AUTO_QUEUES = 4096

/** A caller's `isDead`, and the function that lanes call for it. */
interface Question<T> {
  readonly isDead: (item: T) => boolean
  readonly isLive: IsLive<T>
}

/**
 * Chooses the next flow. Holds waiting requests, and hands them out so that every flow gets its share of the served
 * *cost*, regardless of the others' demand. A plain data structure: no clock, timer, or promise.
 *
 * Flows take turns by deficit round robin, see `Ring`; the requests of a flow keep their order. With `queues:
 * 'perFlow'` that is exact. With a number of queues it is Stochastic Fairness Queueing: flows are assigned to queues by
 * a hash, queues take turns, and so do the flows inside a queue. That saves only a record per waiting flow; it is for
 * users who need a fixed number of queues.
 *
 * All operations are O(1) amortised, except a perturbation, which sorts the waiting requests, and a turn among flows
 * that mostly wait with requests of very many quanta: O(those flows). Memory is in proportion to the waiting requests.
 * A flow's record outlives its last request while it owes, and for one round after it was served; at most 4096 such
 * records are kept.
 */
export class FairQueue<T> {
  readonly #root: Lane<T> = new Lane<T>('', 0, undefined)
  readonly #quantum = new Quantum()
  readonly #costs = new LearnedCosts()
  readonly #running = new Running()
  readonly #learns: boolean
  readonly #lanes: FlowLanes<T>
  readonly #queues: HashedQueues<T> | undefined
  readonly #auto: boolean
  readonly #weightOf: WeightOf | undefined
  /** The same with 1 where it fails, for calls in which no request arrives that could fail. */
  readonly #safeWeightOf: WeightOf | undefined
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
  /** Number of times that all debts were forgiven. */
  #era = 0
  #question: Question<T> | undefined = undefined
  /** Sequence number of the latest request that was dequeued while no other flow waited. */
  #latestAlone = -1

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairQueueOptions = {}) {
    const settings = fairQueueSettings(options)
    const { queues, sparseFirst, weightOf, perFlowLimit, maxWaiting, overflow, random } = settings
    this.#learns = settings.estimates === 'learned'
    this.#auto = queues === 'auto'
    this.#weightOf = weightOf
    this.#safeWeightOf = weightOf && safeWeight(weightOf, () => {})
    this.#perFlowLimit = perFlowLimit
    this.#maxWaiting = maxWaiting
    this.#random = random
    const rules: RingRules<T> = {
      quantum: this.#quantum,
      costs: this.#costs,
      sparseFirst,
      passing: 0,
      running: this.#running,
      left: (lane) => this.#lanes.forget(lane),
    }
    if (overflow === 'evict') this.#root.longest = new LongestQueue()
    if (queues === 'perFlow') this.#root.ring = new Ring(this.#root, rules)
    else this.#queues = new HashedQueues(this.#root, rules, queues === 'auto' ? AUTO_QUEUES : queues, random)
    this.#lanes = new FlowLanes(this.#root, this.#queues, rules)
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#root.count
  }

  /** Their expected cost. */
  get cost(): number {
    return this.#costs.ofAll(this.#root.cost, this.#root.count)
  }

  /**
   * Enqueues a request of `flow`, or refuses it because too many wait. `cost` is from 1e-9 to 1e12, in the units of the
   * service. If it evicted another request, that is the ticket's `evicted`, and the caller must turn it away.
   *
   * If it is {@link settle}d later, the queue learns the actual costs of its flow's requests, separately for each
   * `kind`: a route, a model; up to 16 kinds for each of 10 000 flows.
   *
   * Throws, and changes nothing, on an empty flow, a bad cost, or if `weightOf` throws or returns a bad weight.
   */
  enqueue(flow: Flow, item: T, cost = 1, kind = ''): Ticket<T> | Refused {
    flow = this.#flow(flow)
    requireCost('cost', cost)
    const key = keyOf(flow)
    const weights = this.#weigh(flow)
    let lane = this.#lanes.find(key)
    if (lane !== undefined && lane.count >= this.#perFlowLimit)
      return this.#refuse('flow-full', this.#perFlowLimit, flow, weights)
    let evicted: Request<T> | undefined
    if (this.#root.count >= this.#maxWaiting) {
      evicted = victimOf(this.#root, this.#lanesOf(flow, weights), cost)
      if (evicted === undefined) return this.#refuse('full', this.#maxWaiting, flow, weights)
      this.#evicted++
      this.#leave(evicted)
      // The flow's lane may have gone with it: a queue that empties forgets the flows without waiting requests.
      lane = this.#lanes.find(key)
    }
    const request = new Request(flow, item, cost, kind, this.#sequence++)
    request.evicted = evicted
    this.#quantum.see(cost)
    lane ??= this.#lanes.open(flow, key, weights)
    if (this.#weightOf !== undefined) lane.reweigh(weights)
    lane.add(request)
    this.#resized(lane)
    if (this.#queues !== undefined) this.#watch(this.#queues, lane)
    return request
  }

  /**
   * The next request, charged its cost. `undefined` if none waits: then all debts are forgiven, and no record is left.
   *
   * A request that `isDead` reports as dead at its turn is dropped instead: it costs its flow neither credit nor the
   * turn, and the flow continues with its next. `isDead` may be called with the same request again until it returns
   * true; it may use this queue, and if it throws nothing is lost. For `mayStart` see {@link peek}.
   */
  dequeue(isDead?: (item: T) => boolean, mayStart?: (item: T) => boolean): Ticket<T> | undefined {
    const request = this.#root.head(isDead && this.#isLive(isDead), mayStart)
    if (request === undefined) {
      // All turns could pass at once without a difference.
      this.#root.ring!.clear()
      this.#era++
      return undefined
    }
    this.#serve(request)
    return request
  }

  /**
   * Dequeues the request that {@link peek} has just returned, without another search. False, and nothing changes, if it
   * has left already. Throws a `TypeError` on another queue's ticket.
   */
  take(ticket: Ticket<T>): boolean {
    const request = this.#own(ticket)
    if (request.lane === undefined) return false
    this.#serve(request)
    return true
  }

  #serve(request: Request<T>): void {
    this.#dequeued++
    request.era = this.#era
    request.contested = request.lane!.contestedLevels(this.#root)
    if (request.contested < ALL_LEVELS) this.#latestAlone = request.sequence
    const costs = this.#costs
    this.#quantum.learn(request.expected(costs))
    if (costs.size > 0) request.cost = costs.cautious(request.key, request.kind, request.declared)
    request.counted = this.#running.starts(request.lane!.top.costly)
    request.lane!.charge(request.cost)
    this.#leave(request)
  }

  /**
   * The request that `dequeue` would return, still waiting; another one once a request arrived, left, or was settled.
   * Drops dead requests, as `dequeue` does.
   *
   * A flow whose next request `mayStart` rejects is skipped, and keeps its turn while others are served, up to 16
   * rounds ahead, or 16 requests like its own. If none of the others can be served, it is served nevertheless. With
   * `isStrict` it is not: the others are served however far ahead their turns are, and `undefined` also means that
   * `mayStart` rejected all of them.
   */
  peek(isDead?: (item: T) => boolean, mayStart?: (item: T) => boolean, isStrict = false): Ticket<T> | undefined {
    return this.#root.head(isDead && this.#isLive(isDead), mayStart, isStrict)
  }

  /**
   * Serves the flow's newest request first, from now until none of its requests waits. The value of its turns stays the
   * same. Does nothing if none of its requests waits.
   */
  takeNewest(flow: Flow): void {
    const lane = this.#lanes.find(keyOf(this.#flow(flow)))
    if (lane !== undefined && lane.count > 0) lane.newestFirst = true
  }

  /**
   * Removes a request before its turn; false if it had left already. Throws a `TypeError` on another queue's ticket.
   */
  remove(ticket: Ticket<T>): boolean {
    const request = this.#own(ticket)
    if (request.lane === undefined) return false
    this.#removed++
    this.#leave(request)
    return true
  }

  /**
   * Reports the cost so far, from 0 to 1e12, of a dequeued request that still runs: its flow is charged the excess over
   * the cost known before, if another flow waits now. Has no effect on other requests.
   */
  charge(ticket: Ticket<T>, costSoFar: number): void {
    requireCost('costSoFar', costSoFar, 0)
    const request = this.#own(ticket)
    if (request.era >= 0 && !request.settled && costSoFar > request.cost)
      this.#correct(request, costSoFar, this.#contested(request))
  }

  /**
   * Reports the actual cost of a dequeued request, from 0 to 1e12. Its flow is charged the difference, or is refunded
   * if any of its requests still waits. A charge beyond its credit is a debt that its next turns pay, even if none of
   * its requests waits. If called more than once, the last cost counts, and the first is learnt, unless `teaches` is
   * false; settling a request that was never dequeued has no effect.
   *
   * Of the requests that were dequeued while no other flow waited, only the latest changes anything: if the costs of
   * those before it had been known, their flow would have paid with turns that no other flow wanted. Settle all
   * requests of a queue or none, at their ends: one that is not settled counts as running, and stays charged as
   * cautiously while some cost more than they declare.
   */
  settle(ticket: Ticket<T>, actualCost: number, teaches = true): void {
    requireCost('actualCost', actualCost, 0)
    const request = this.#own(ticket)
    if (request.era < 0) return
    if (!request.settled) {
      request.settled = true
      this.#running.ends(request.counted)
      if (teaches) this.learn(request.path, request.declared, actualCost, request.kind)
    }
    const isLatest = request.sequence === this.#latestAlone
    if (actualCost !== request.cost) this.#correct(request, actualCost, isLatest ? ALL_LEVELS : request.contested)
  }

  /**
   * The ticket of a running request that was never in the queue, because it did not need to wait: its flow is charged
   * the cost beyond `costSoFar`. Throws on an empty flow or a bad cost.
   */
  started(flow: Flow, item: T, cost = 1, kind = '', costSoFar: number = cost): Ticket<T> {
    requireCost('cost', cost)
    requireCost('costSoFar', costSoFar, 0)
    const request = new Request(this.#flow(flow), item, cost, kind, 0)
    request.era = this.#era
    request.free = costSoFar
    return request
  }

  /** Expected cost of a request of `flow` that declares `cost`, as far as it has been learnt. */
  expected(flow: Flow, cost: number, kind = ''): number {
    const checked = this.#flow(flow)
    return this.#costs.size === 0 ? cost : this.#costs.expected(keyOf(checked), kind, cost)
  }

  /** Learns the cost of a request that was never in the queue, because it did not need to wait. */
  learn(flow: Flow, cost: number, actualCost: number, kind = ''): void {
    if (this.#learns) this.#costs.learn(keyOf(this.#flow(flow)), kind, cost, actualCost)
  }

  /**
   * Reassigns all waiting requests to SFQ's queues with a new key, so that other flows share a queue. Every flow keeps
   * its order, its credit and its debts; nothing is refused. Does nothing with `'perFlow'`.
   */
  perturb(): void {
    const queues = this.#queues
    if (queues === undefined) return
    const key = keyFrom(this.#random)
    const { length } = queues.lanes
    const shrinks = this.#auto && length > AUTO_QUEUES && queues.occupancy.sparse
    this.#perturbations++
    this.#lanes.rehome(shrinks ? length / 2 : length, key)
  }

  /** The present state of `flow`, with weight 1 if `weightOf` throws. Changes nothing. */
  standing(flow: Flow): Standing {
    flow = this.#flow(flow)
    return this.#standing(flow, this.#weigh(flow, this.#safeWeightOf))
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

  /** The flow, checked. If flows share queues, only their first names count. */
  #flow(flow: Flow): Flow {
    if (typeof flow === 'string' && flow.length > 0) return flow
    const checked = requireFlow(flow)
    return this.#queues === undefined ? checked : firstOf(checked)
  }

  /** The weights of a flow's names, from the first level on. */
  #weigh(flow: Flow, weightOf = this.#weightOf): readonly number[] {
    if (weightOf === undefined) return EVEN
    if (typeof flow === 'string') return [weightInSteps(weightOf, flow)]
    return flow.map((name, level) => weightInSteps(weightOf, name, flow.slice(0, level)))
  }

  /** The lanes of a flow, from the first level on. */
  #lanesOf(flow: Flow, weights: readonly number[]): readonly Sized<T>[] {
    const leaf: Sized<T> = { lane: this.#lanes.find(keyOf(flow)), weight: weights.at(-1)! }
    if (typeof flow === 'string') return [leaf]
    const above = flow.slice(1).map((_, level) => {
      return { lane: this.#lanes.group(flow.slice(0, level + 1)), weight: weights[level]! }
    })
    return [...above, leaf]
  }

  /** The waiting cost of a lane has changed. */
  #resized(lane: Lane<T>): void {
    if (this.#queues !== undefined) this.#root.longest?.update(lane)
    else for (let each = lane; each.up !== undefined; each = each.up) each.up.longest?.update(each)
  }

  /**
   * A request has cost, or costs, this instead of its earlier charge. That changes this number of its lanes, from its
   * flow's up.
   */
  #correct(request: Request<T>, cost: number, levels: number = ALL_LEVELS): void {
    const { path, key } = request
    const change = Math.max(cost, request.free) - Math.max(request.cost, request.free)
    let lane = this.#lanes.find(key)
    if (change > 0 && lane === undefined && levels === ALL_LEVELS) {
      // Called first, because it may use this queue.
      const weights = this.#weigh(path, this.#safeWeightOf)
      lane = this.#lanes.find(key) ?? this.#lanes.open(path, key, weights)
    }
    request.cost = cost
    // A forgiven debt is not refunded.
    if (change > 0 || (change < 0 && request.era === this.#era)) lane?.correct(change, levels)
  }

  /** Number of a request's lanes, from its flow's up, beside which others wait now. */
  #contested({ path, key }: Request<T>): number {
    const lane = this.#lanes.find(key)
    if (lane !== undefined) return lane.contestedLevels(this.#root)
    const first = typeof path === 'string' ? undefined : this.#lanes.group(path.slice(0, 1))
    return (first?.count ?? 0) < this.#root.count ? ALL_LEVELS : 0
  }

  #own(ticket: Ticket<T>): Request<T> {
    if (!(ticket instanceof Request)) throw new TypeError(`ticket must come from enqueue, got ${show(ticket)}`)
    const request: Request<T> = ticket
    let lane = request.lane
    while (lane?.up !== undefined) lane = lane.up
    if (lane !== undefined && lane !== this.#root) throw new TypeError('ticket must come from this queue')
    return request
  }

  /** Created once per `isDead`, because a caller passes the same one with every call. */
  #isLive(isDead: (item: T) => boolean): IsLive<T> {
    if (this.#question?.isDead !== isDead) this.#question = this.#put(isDead)
    return this.#question.isLive
  }

  /** Separate from `#isLive`, which would otherwise allocate this closure's context at every call. */
  #put(isDead: (item: T) => boolean): Question<T> {
    requireFunction('isDead', isDead)
    return { isDead, isLive: (request) => this.#keeps(request, isDead) }
  }

  #keeps(request: Request<T>, isDead: (item: T) => boolean): boolean {
    const dead = isDead(request.item)
    requireBoolean('isDead()', dead)
    if (!dead) return true
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
    this.#resized(lane)
    this.#queues?.left(lane)
  }

  /** Counts an arrival, and grows when too many queues are occupied. */
  #watch(queues: HashedQueues<T>, lane: Lane<T>): void {
    queues.added(lane)
    const { length } = queues.lanes
    if (this.#auto && queues.occupancy.crowded && length < MOST_AUTO_QUEUES) this.#lanes.rehome(2 * length, queues.key)
  }

  #refuse(refused: Refused['refused'], limit: number, flow: Flow, weights: readonly number[]): Refused {
    this.#refused++
    return { refused, limit, ...this.#standing(flow, weights) }
  }

  /** The state of a flow, or of all flows whose paths have this prefix. */
  #standing(flow: Flow, weights: readonly number[]): Standing {
    const lanes = this.#lanesOf(flow, weights).map(({ lane }) => lane)
    const own = lanes.pop() ?? this.#lanes.group(flow)
    let [share, above]: [number, Lane<T> | undefined] = [1, this.#root]
    for (const [level, lane] of [...lanes, own].entries()) {
      // Sums of weights of very different magnitudes are not exact.
      const others = Math.max(0, (above?.members ?? 0) - (lane?.counted ?? 0))
      share *= weights[level]! / (others + weights[level]!)
      above = lane
    }
    const { count: waiting, cost: declared } = own ?? NOTHING_WAITS
    return { waiting, cost: this.#costs.expected(keyOf(flow), '', declared, waiting), share }
  }
}

const EVEN: readonly number[] = [1, 1, 1, 1]
const NOTHING_WAITS = { count: 0, cost: 0 }
