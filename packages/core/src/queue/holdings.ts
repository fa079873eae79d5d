import type { Contest } from '../admission/stage.js'
import { LinkedList } from '../linked-list.js'
import type { Waiter } from './waiter.js'

/** What one flow has: requests that run, oldest first, and how many wait. */
interface Holding {
  readonly weight: number
  readonly running: LinkedList<Waiter>
  /** Slots that they take. */
  width: number
  waiting: number
}

/**
 * Which slots each flow has, and what it may have while others wait: its max-min share of the limit, by weight, in
 * whole slots and at least one; and never more than `perFlow`. A record per flow that runs or waits, O(1) per change.
 */
export class Holdings {
  readonly #flows = new Map<string, Holding>()
  readonly #perFlow: number
  #weight = 0
  #waitingFlows = 0
  #waiting = 0

  constructor(perFlow: number) {
    this.#perFlow = perFlow
  }

  waits(waiter: Waiter): void {
    const holding = this.#open(waiter)
    this.#waiting++
    if (holding.waiting++ === 0) this.#waitingFlows++
  }

  waitsNoMore({ flow }: Waiter): void {
    const holding = this.#flows.get(flow)!
    this.#waiting--
    if (--holding.waiting === 0) this.#waitingFlows--
    this.#close(flow, holding)
  }

  starts(waiter: Waiter): void {
    const holding = this.#open(waiter)
    holding.running.push(waiter)
    holding.width += waiter.width
  }

  ends(waiter: Waiter): void {
    const holding = this.#flows.get(waiter.flow)!
    holding.running.delete(waiter)
    holding.width = holding.running.first === undefined ? 0 : holding.width - waiter.width
    this.#close(waiter.flow, holding)
  }

  /** More than one flow waits, so that one may be passed over for another. */
  get isContested(): boolean {
    return this.#waitingFlows > 1
  }

  /** Whether its flow may have one more running, whoever waits. What runs alone in its flow may always. */
  isAllowed({ flow, width }: Waiter): boolean {
    const held = this.#flows.get(flow)?.width ?? 0
    return held === 0 || held + width <= this.#perFlow
  }

  /** Whether its flow may have one more running while others wait. */
  isWithinShare({ flow, width }: Waiter, limit: number): boolean {
    const holding = this.#flows.get(flow)!
    return holding.width === 0 || holding.width + width <= Math.min(this.#perFlow, this.#share(holding, limit))
  }

  /** Who waits for the slots of a request that runs. Of a flow, those that started last are over its share. */
  contest(waiter: Waiter, limit: number): Contest {
    const holding = this.#flows.get(waiter.flow)
    if (holding === undefined || this.#waiting === holding.waiting) return 'none'
    const share = this.#share(holding, limit)
    let width = 0
    for (let one = holding.running.first; one !== undefined; one = one.next) {
      width += one.width
      if (one === waiter) break
    }
    return width > share && width > waiter.width ? 'over-share' : 'others-wait'
  }

  #share(holding: Holding, limit: number): number {
    return Math.max(1, Math.ceil((limit * holding.weight) / this.#weight))
  }

  #open({ flow, weight }: Waiter): Holding {
    let holding = this.#flows.get(flow)
    if (holding !== undefined) return holding
    holding = { weight, running: new LinkedList(), width: 0, waiting: 0 }
    this.#weight += weight
    this.#flows.set(flow, holding)
    return holding
  }

  #close(flow: string, { weight, running, waiting }: Holding): void {
    if (waiting > 0 || running.first !== undefined) return
    this.#flows.delete(flow)
    // Differences of floats leave crumbs.
    this.#weight = this.#flows.size === 0 ? 0 : this.#weight - weight
  }
}
