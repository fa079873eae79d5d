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
