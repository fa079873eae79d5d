import type { Settlement } from '../admission/decision.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import { requireNumber, requireOneOf } from '../options.js'
import type { Waiter } from './waiter.js'

/** A request, where the room is used without a gate. What it does not say, the room's options say. */
export interface QueueRequest {
  /** What we are fair between. Not empty. */
  flow: string
  /** What it is expected to cost its flow, from 1e-9 to 1e12, in units of your choice. @default its width */
  cost?: number
  /** Slots that it takes while it runs, above 0. */
  width?: number
  /** From -2 to 2, whole. @default 0 */
  priority?: number
  /** Its band, a whole number from 0, the highest. */
  band?: number
  /** True for what must never wait. It is only counted. @default false */
  exempt?: boolean
  /** In how many milliseconds from now its answer will be worth nothing any more. */
  deadlineMs?: number | undefined
  /** Fires when the client is gone. */
  signal?: AbortSignal | undefined
}

/** A request that runs, where the room is used without a gate. */
export interface QueuePermit {
  readonly admitted: true
  readonly flow: string
  /** How long it waited, in milliseconds. */
  readonly waitedMs: number
  /**
   * Says how the request ended and what it really cost. Exactly one call counts; later ones do nothing. Throws on an
   * unknown outcome or a bad cost, and then it did not count.
   */
  finish(outcome?: Outcome, settlement?: Settlement): void
}

/** @internal A waiter that runs, shown to whoever asked the room itself. */
export class RunningRequest implements QueuePermit {
  readonly admitted = true
  readonly #waiter: Waiter
  readonly #clock: () => number

  constructor(waiter: Waiter, clock: () => number) {
    this.#waiter = waiter
    this.#clock = clock
  }

  get flow(): string {
    return this.#waiter.flow
  }

  get waitedMs(): number {
    return this.#waiter.startedMs - this.#waiter.arrivedMs
  }

  finish(outcome: Outcome = 'success', { cost = this.#waiter.cost }: Settlement = {}): void {
    requireOneOf('outcome', outcome, outcomes)
    requireNumber('cost', cost, 0)
    this.#waiter.finish(outcome, cost, this.#clock())
  }
}
