import { ownCopy } from '../path.js'
import { MOST_COST } from './options.js'

/** How much a settlement tells. */
const LEARNING = 1 / 8
/** Flows of which costs are remembered; the one that was learnt of first is forgotten first. */
const MOST_FLOWS = 10_000
/** Kinds of requests that are told apart in a flow; those beyond them share what is known of the flow. */
const MOST_KINDS = 16
/** A flow's own word is taken for what it costs unless another way has been nearer by this. */
const TRUST = 2

/**
 * Estimates a cost in three ways: as it was declared; in proportion to that; or as the mean, whatever was declared. It
 * goes by what was declared or, where another way has been twice as near lately, by the nearest. Moving means; O(1) per
 * call.
 */
class Estimator {
  /** Means of what was declared, and of what that came to. */
  #declared: number
  #actual: number
  /** Mean errors of the three. */
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

  /** What it will cost. */
  estimate(declared: number): number {
    const other = Math.min(this.#inProportion, this.#asMean)
    if (this.#asDeclared <= TRUST * other) return declared
    return this.#asMean === other ? this.#actual : this.#proportional(declared)
  }

  /** The same, and no less than estimates have lately been wrong by: where costs vary by more, a guess is worth little. */
  cautious(declared: number): number {
    const error = Math.min(this.#asDeclared, this.#inProportion, this.#asMean)
    return Math.min(MOST_COST, Math.max(this.estimate(declared), error))
  }

  #proportional(declared: number): number {
    return (declared * this.#actual) / this.#declared
  }
}

/** What is known of a flow's costs. */
interface FlowCosts {
  readonly all: Estimator
  kinds: Map<string, Estimator> | undefined
}

/**
 * Learns what requests really cost, for each flow and kind of request, from the costs that they are settled with: what
 * to expect, by which turns are taken, and more than that, which a request is charged while it runs. What is charged
 * too much comes back when it is settled. So a flow does not get more turns meanwhile because its costs are known late.
 *
 * A flow of which nothing is known takes its turn with what the first requests of other flows have cost, so that many
 * such flows do not hold all slots together, and is charged no less than it declares. Where costs are settled as declared,
 * or never, nothing changes. What costs nothing did not run, and tells nothing. O(1) per call; bounded memory.
 *
 * @see J. Mace et al., "2DFQ: Two-Dimensional Fair Queuing for Multi-Tenant Cloud Services", SIGCOMM 2016: pessimistic
 *   estimates for what runs
 */
export class LearnedCosts {
  readonly #flows = new Map<string, FlowCosts>()
  /** Of all flows together. */
  #any: Estimator | undefined
  /** Of the first requests of all flows: what to expect of one of which nothing is known. */
  #first: Estimator | undefined

  /** Flows that are known. */
  get size(): number {
    return this.#flows.size
  }

  /** What requests that declare this cost together are expected to cost; one, unless `requests` says how many. */
  expected(flow: string, kind: string, declared: number, requests: number = 1): number {
    if (requests === 0) return declared
    const [own, each] = [this.#find(flow, kind), declared / requests]
    return requests * (own?.estimate(each) ?? this.#first?.cautious(each) ?? each)
  }

  /** What requests of several flows that declare this cost together are expected to cost. */
  ofAll(declared: number, requests: number): number {
    return this.#any === undefined || requests === 0 ? declared : requests * this.#any.estimate(declared / requests)
  }

  /** What a request is charged while it runs. */
  cautious(flow: string, kind: string, declared: number): number {
    const own = this.#find(flow, kind)
    return own?.cautious(declared) ?? Math.max(declared, this.#first?.cautious(declared) ?? 0)
  }

  /** A request that declared this cost was settled with another, or the same. */
  learn(flow: string, kind: string, declared: number, actual: number): void {
    if (actual <= 0) return
    const known = this.#flows.get(flow)
    // The usual case: costs are known beforehand.
    if (known === undefined && actual === declared && this.#any === undefined) return
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
