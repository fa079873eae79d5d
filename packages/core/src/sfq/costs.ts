import { ownCopy } from '../path.js'
import { MOST_COST } from './options.js'

/** Weight of one settlement in the moving means. */
const LEARNING = 1 / 8
/** Flows whose costs are remembered; the one learnt first is forgotten first. */
const MOST_FLOWS = 10_000
/** Kinds of requests that are distinguished within a flow; further kinds share the flow's estimate. */
const MOST_KINDS = 16
/** A declared cost is used unless another estimate has been more accurate by this factor. */
const TRUST = 2

/**
 * Estimates a cost in three ways: as declared; in proportion to that; or as the mean, independent of the declared cost.
 * It uses the declared cost or, if another estimate has recently been twice as accurate, the most accurate one. Moving
 * means; O(1) per call.
 */
class Estimator {
  /** Means of the declared costs, and of the actual ones. */
  #declared: number
  #actual: number
  /** Mean errors of the three estimates. */
  #asDeclared: number
  #inProportion = 0
  #asMean = 0

  constructor(declared: number, actual: number) {
    this.#declared = declared
    this.#actual = actual
    this.#asDeclared = Math.abs(actual - declared)
  }

  learn(declared: number, actual: number): void {
    this.#asDeclared += (Math.abs(actual - declared) - this.#asDeclared) * LEARNING
    this.#inProportion += (Math.abs(actual - this.#proportional(declared)) - this.#inProportion) * LEARNING
    this.#asMean += (Math.abs(actual - this.#actual) - this.#asMean) * LEARNING
    this.#declared += (declared - this.#declared) * LEARNING
    this.#actual += (actual - this.#actual) * LEARNING
  }

  /** The expected cost. */
  estimate(declared: number): number {
    const other = Math.min(this.#inProportion, this.#asMean)
    if (this.#asDeclared <= TRUST * other) return declared
    return this.#asMean === other ? this.#actual : this.#proportional(declared)
  }

  /**
   * The same, but no less than the recent error of the estimates: if costs vary by more, an estimate is worth little.
   */
  cautious(declared: number): number {
    const error = Math.min(this.#asDeclared, this.#inProportion, this.#asMean)
    return Math.min(MOST_COST, Math.max(this.estimate(declared), error))
  }

  #proportional(declared: number): number {
    return (declared * this.#actual) / this.#declared
  }
}

/** The records of a flow's costs. */
interface FlowCosts {
  readonly all: Estimator
  kinds: Map<string, Estimator> | undefined
}

/**
 * Learns the actual costs of requests, for each flow and kind of request, from their settlements: the expected cost, by
 * which turns are taken, and a higher, cautious cost, which a request is charged while it runs. The excess is refunded
 * at settlement. So a flow does not get more turns in the meantime because its costs are known late.
 *
 * An unknown flow takes its turns by the cost of other flows' first requests, so that many such flows do not hold all
 * slots together, and is charged no less than it declares. If costs are settled as declared, or never, nothing changes.
 * A request with cost 0 did not run, and is not learnt from. O(1) per call; bounded memory.
 *
 * @see J. Mace et al., "2DFQ: Two-Dimensional Fair Queuing for Multi-Tenant Cloud Services", SIGCOMM 2016: pessimistic
 *   estimates for running requests
 */
export class LearnedCosts {
  readonly #flows = new Map<string, FlowCosts>()
  /** Over all flows. */
  #any: Estimator | undefined
  /** Over the first requests of all flows: the estimate for an unknown flow. */
  #first: Estimator | undefined

  /** Number of known flows. */
  get size(): number {
    return this.#flows.size
  }

  /** Expected cost of requests with this declared total cost; of one request unless `requests` is given. */
  expected(flow: string, kind: string, declared: number, requests: number = 1): number {
    if (requests === 0) return declared
    const [own, each] = [this.#find(flow, kind), declared / requests]
    return requests * (own?.estimate(each) ?? this.#first?.cautious(each) ?? each)
  }

  /** Expected cost of requests of several flows with this declared total cost. */
  ofAll(declared: number, requests: number): number {
    return this.#any === undefined || requests === 0 ? declared : requests * this.#any.estimate(declared / requests)
  }

  /** The charge for a request while it runs. */
  cautious(flow: string, kind: string, declared: number): number {
    const own = this.#find(flow, kind)
    return own?.cautious(declared) ?? Math.max(declared, this.#first?.cautious(declared) ?? 0)
  }

  /** A request with this declared cost was settled with `actual`. */
  learn(flow: string, kind: string, declared: number, actual: number): void {
    // The usual case: costs are known in advance.
    if (actual <= 0 || (actual === declared && this.#any === undefined)) return
    const known = this.#flows.get(flow)
    this.#any = learnt(this.#any, declared, actual)
    if (known === undefined) {
      if (this.#flows.size >= MOST_FLOWS) this.#flows.delete(this.#flows.keys().next().value!)
      this.#flows.set(ownCopy(flow), { all: new Estimator(declared, actual), kinds: undefined })
      this.#first = learnt(this.#first, declared, actual)
    } else known.all.learn(declared, actual)
    if (kind !== '') learnKind(this.#flows.get(flow)!, kind, declared, actual)
  }

  #find(flow: string, kind: string): Estimator | undefined {
    const known = this.#flows.size === 0 ? undefined : this.#flows.get(flow)
    return known === undefined ? undefined : (known.kinds?.get(kind) ?? known.all)
  }
}

function learnKind(costs: FlowCosts, kind: string, declared: number, actual: number): void {
  costs.kinds ??= new Map()
  const known = costs.kinds.get(kind)
  if (known !== undefined) known.learn(declared, actual)
  else if (costs.kinds.size < MOST_KINDS) costs.kinds.set(ownCopy(kind), new Estimator(declared, actual))
}

function learnt(known: Estimator | undefined, declared: number, actual: number): Estimator {
  if (known === undefined) return new Estimator(declared, actual)
  known.learn(declared, actual)
  return known
}

/** Number of requests over which costs are averaged. */
const COST_MEMORY = 300
/**
 * Lower bound of the quantum as a part of the mean cost: on average, a round serves one of every 16 lanes that it
 * visits.
 */
const LEAST_PART = 1 / 16
/** Largest excess of the quantum over the geometric mean. */
const MOST_ROOM = 0.125
/** Cap on a single cost, in geometric means: one declared cost must not make turns long for all. */
const MOST_MEANS = 1000
/** Cap on the lower bound by the arithmetic mean, in geometric means. */
const MOST_FLOOR = 8

/**
 * The quantum: the cost that a lane of weight 1 is credited in a round. It is the geometric mean of the recently served
 * costs, so that a turn is worth about one ordinary request, regardless of the few costly ones: with the arithmetic
 * mean, each costly request would give every flow long turns for a while. If costs vary, it is up to an eighth more, so
 * that a lane of ordinary requests seldom owes more than its next turn. It is at least a sixteenth of the arithmetic
 * mean, so that choosing stays O(1), but by that no more than eight geometric means; and at least the smallest cost
 * seen. One request with any declared cost changes it by a few parts in a hundred once 300 have been served.
 */
export class Quantum {
  #served = 0
  #mean = 0
  #meanLog = 0
  /** Mean deviation of the logarithms of costs. */
  #spread = 0
  #geometricMean = 0
  #least: number = Number.POSITIVE_INFINITY

  /** A request of this cost arrives. */
  see(cost: number): void {
    if (cost < this.#least) this.#least = cost
  }

  /** A request of this cost, which was seen before, is served. */
  learn(cost: number): void {
    if (this.#served > 0) cost = Math.min(cost, MOST_MEANS * this.#geometricMean)
    if (this.#served < COST_MEMORY) this.#served++
    this.#mean += (cost - this.#mean) / this.#served
    // The usual case, in which all costs are equal, needs no logarithm.
    if (cost === this.#geometricMean && this.#spread === 0) return
    const first = this.#served === 1
    const log = Math.log(cost)
    const off = first ? 0 : Math.abs(log - this.#meanLog)
    this.#spread += (off - this.#spread) / this.#served
    this.#meanLog += (log - this.#meanLog) / this.#served
    this.#geometricMean = first ? cost : Math.exp(this.#meanLog)
  }

  get value(): number {
    const room = 1 + Math.min(MOST_ROOM, 2 * this.#spread)
    const floor = Math.min(LEAST_PART * this.#mean, MOST_FLOOR * this.#geometricMean)
    return Math.max(room * this.#geometricMean, floor, this.#least)
  }
}

/**
 * Numbers of requests that were dequeued and have not ended, which is known from their settlement: the costly ones, of
 * more than two turns below the root, and the others. None until a request has been settled, because then the caller
 * may settle none.
 */
export class Running {
  costly = 0
  ordinary = 0
  #settles = false

  /** Returns the kind by which the request is counted. */
  starts(isCostly: boolean): 'costly' | 'ordinary' | undefined {
    if (!this.#settles) return undefined
    const kind = isCostly ? 'costly' : 'ordinary'
    this[kind]++
    return kind
  }

  ends(kind: 'costly' | 'ordinary' | undefined): void {
    this.#settles = true
    if (kind !== undefined) this[kind]--
  }
}
