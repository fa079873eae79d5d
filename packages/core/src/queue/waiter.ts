import type { Outcome } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Contest, Hold, Verdict } from '../admission/stage.js'
import type { Ticket } from '../sfq/index.js'
import type { Band } from './bands.js'
import type { Timed } from './earliest.js'

/** Who hears what becomes of a waiter. */
export interface Host {
  /** The signal of one that may be waiting fired. */
  left(waiter: Waiter): void
  /** One that ran has ended; called once. */
  finished(waiter: Waiter, outcome: Outcome, cost: number, nowMs: number): void
  /** One that started did not run after all; called once, instead. */
  undone(waiter: Waiter, nowMs: number): void
  /** Who waits for what one has that runs. */
  contest(waiter: Waiter): Contest
}

/** One request in the room: it may wait, then it runs or is turned away. A single object, because there are many. */
export class Waiter implements Hold, Timed<Waiter> {
  readonly #host: Host
  readonly flow: string
  readonly cost: number
  readonly width: number
  readonly band: Band<Waiter>
  /** Class by which its duration is remembered. */
  readonly className: string
  /** Its flow's, when it came. */
  readonly weight: number
  readonly arrivedMs: number
  startByMs = 0
  position = -1
  next: Waiter | undefined = undefined
  previous: Waiter | undefined = undefined
  state: 'new' | 'waiting' | 'running' | 'done' = 'new'
  startedMs = 0
  /** Its place in the queue, set when it waits. */
  ticket: Ticket<Waiter> | undefined = undefined
  /** The signal that it listens to. */
  signal: AbortSignal | undefined = undefined
  /** Settles the promise, once there is one. */
  resolve: ((verdict: Verdict) => void) | undefined = undefined
  /** The answer: itself, or a refusal. */
  verdict: Verdict = undefined

  constructor(
    host: Host,
    flow: string,
    cost: number,
    width: number,
    band: Band<Waiter>,
    className: string,
    weight: number,
    arrivedMs: number,
  ) {
    this.#host = host
    this.flow = flow
    this.cost = cost
    this.width = width
    this.band = band
    this.className = className
    this.weight = weight
    this.arrivedMs = arrivedMs
  }

  answer(verdict: Verdict): void {
    this.verdict = verdict
    this.resolve?.(verdict)
    this.resolve = undefined
  }

  /** Its signal fired. */
  left(): void {
    this.#host.left(this)
  }

  finish(outcome: Outcome, cost: number, nowMs: number): void {
    if (this.state !== 'running') return
    this.state = 'done'
    this.#host.finished(this, outcome, cost, nowMs)
  }

  contest(): Contest {
    return this.#host.contest(this)
  }

  undo(_refusal: Refusal, nowMs: number): void {
    if (this.state !== 'running') return
    this.state = 'done'
    this.#host.undone(this, nowMs)
  }
}
