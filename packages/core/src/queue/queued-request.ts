import type { Settlement } from '../admission/decision.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Contest, Hold, Passage, Verdict } from '../admission/stage.js'
import type { Timed } from '../containers.js'
import {
  requireAbortSignal,
  requireBoolean,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
} from '../options.js'
import { type Flow, firstOf, requireFlow } from '../path.js'
import { requireCost, type Ticket, weightInSteps } from '../sfq/options.js'
import type { Band, Drained } from './bands.js'
import { type QueueSettings, requireDeadline, requireUnits, requireWidth } from './options.js'
import type { FlowRecord, Need } from './slots.js'

/**
 * Reasons of a queue's refusals.
 *
 * For lack of capacity, which teaches FAIR (`shortage: true`):
 * - `flow-full`: its flow is at its limit of waiting requests;
 * - `queue-full`: its band is at its limit of waiting requests;
 * - `would-wait-too-long`: at the queue's drain rate, its turn would not come in time;
 * - `expired`: it waited for its longest time;
 * - `evicted`: it waited, and its place went to a flow with less waiting.
 *
 * For other reasons, which teach nothing (`shortage: false`):
 * - `deadline`: on arrival its deadline had passed, or would have passed before it could wait and run. It took nothing
 *   from other requests, and its client may have asked for the impossible; a request that waited and then ran out of
 *   time is `expired`, because more capacity would have saved it;
 * - `too-wide`: it needs more slots, or units of the pool, than there can ever be, so `retryAfterMs` is infinite: a
 *   retry is pointless;
 * - `gone`: its signal fired;
 * - `closed`: the queue was closed.
 */
export type QueueReason = keyof typeof SHORTAGE

/** Whether a refusal for this reason means a lack of capacity. */
export const SHORTAGE = {
  'flow-full': true,
  'queue-full': true,
  'would-wait-too-long': true,
  expired: true,
  evicted: true,
  deadline: false,
  'too-wide': false,
  gone: false,
  closed: false,
} as const

/** A request to a queue without a gate. The queue's options decide missing properties. */
export interface QueueRequest {
  /** The unit of fairness: a name, not empty, or a path of up to four: `['account', 'key']`. */
  flow: Flow
  /** Its expected cost, from 1e-9 to 1e12, in units of your choice. @default its width, or 1 if a function names that */
  cost?: number
  /** Slots that it takes while it runs, above 0. */
  width?: number
  /** Units of the pool that it takes while it runs, at least 0. */
  units?: number
  /** From -2 to 2, whole. @default 0 */
  priority?: number
  /** Its band, a whole number from 0, the highest. */
  band?: number
  /** True for a request that must never wait. It is only counted. @default false */
  exempt?: boolean
  /** Milliseconds from now until its answer becomes worthless. */
  deadlineMs?: number | undefined
  /** Fires when the client is gone. */
  signal?: AbortSignal | undefined
}

const FIELDS: readonly (keyof QueueRequest)[] = [
  'flow',
  'cost',
  'width',
  'units',
  'priority',
  'band',
  'exempt',
  'deadlineMs',
  'signal',
]

/** The request in a gate's form. Throws a `RangeError` or `TypeError` that names the invalid property. */
export function passageOf(request: QueueRequest, settings: QueueSettings, nowMs: number): Passage {
  requireOptions('request', request, FIELDS)
  const { flow, cost, width, units, priority = 0, band, exempt = false, deadlineMs, signal } = request
  const checked = requireFlow(flow)
  if (cost !== undefined) requireCost('cost', cost)
  if (width !== undefined) requireWidth('width', width)
  if (units !== undefined) {
    requireUnits('units', units)
    if (settings.pool === undefined) throw new RangeError(`units needs a queue with a pool, got ${units}`)
  }
  requireInteger('priority', priority, -2, 2)
  if (band !== undefined) requireInteger('band', band, 0, settings.bands.length - 1)
  requireBoolean('exempt', exempt)
  if (deadlineMs !== undefined) requireDeadline('deadlineMs', deadlineMs)
  if (signal !== undefined) requireAbortSignal('signal', signal)
  return {
    flow: firstOf(checked),
    path: typeof checked === 'string' ? undefined : checked,
    cost: cost ?? width ?? (typeof settings.width === 'number' ? settings.width : 1),
    resource: undefined,
    priority,
    exempt,
    nowMs,
    signal,
    credit: undefined,
  }
}

/** A running request of a queue without a gate. */
export interface QueuePermit {
  readonly admitted: true
  readonly flow: string
  /** Its waiting time, in milliseconds. */
  readonly waitedMs: number
  /** Reports further use while it runs, from 0 on; see the permit of a gate. Throws on a bad `delta`, or sum. */
  charge(delta: number): void
  /**
   * Reports the request's outcome and its actual cost. Exactly one call counts; later ones do nothing. Throws on an
   * unknown outcome or a bad cost, and then it did not count.
   */
  finish(outcome?: Outcome, settlement?: Settlement): void
}

/** The queue's side of a request: receives its events. */
export interface RequestHost {
  /** The signal of a request that may be waiting fired. */
  aborted(request: QueuedRequest): void
  /** A running request has cost this so far. */
  charged(request: QueuedRequest, costSoFar: number): void
  /** A running request has ended; called once. `isNamed`: a caller has named its cost. */
  finished(request: QueuedRequest, outcome: Outcome, cost: number, nowMs: number, isNamed: boolean): void
  /** A request that started did not run after all; called once, instead of `finished`. */
  undone(request: QueuedRequest, nowMs: number): void
  /** The flows that wait for the slots of a running request. */
  contest(request: QueuedRequest): Contest
}

/** Properties that a caller without a gate may state for a request. */
export type Said = Readonly<Partial<Pick<QueueRequest, 'width' | 'units' | 'band' | 'deadlineMs'>>>

/** One request in the queue. It may wait; then it runs, and is its own hold, or is refused. */
export class QueuedRequest implements Hold, Timed<QueuedRequest>, Need, Drained {
  readonly #host: RequestHost
  /** The first name of its path. */
  readonly flow: string
  readonly path: Flow
  readonly cost: number
  /** Its expected cost at its arrival. */
  readonly expected: number
  readonly width: number
  readonly units: number
  readonly band: Band<QueuedRequest>
  /** The class under which its duration is remembered. */
  readonly className: string
  /** Its flow's weight, and most slots. */
  readonly weight: number
  readonly most: number
  readonly arrivedMs: number
  startByMs = 0
  position = -1
  next: QueuedRequest | undefined = undefined
  previous: QueuedRequest | undefined = undefined
  state: 'new' | 'waiting' | 'running' | 'done' = 'new'
  startedMs = 0
  /** Its cost so far, if that is reported while it runs; at least its declared cost. */
  costSoFar: number
  /** Width that has passed it, while it was too wide for its band's limit, or for the free slots. */
  passedWidth = 0
  passedUnits = 0
  /** Its flow's record, written by `FlowSlots` alone. */
  account: FlowRecord | undefined = undefined
  /** Its ticket in the fair queue, set when it waits. */
  ticket: Ticket<QueuedRequest> | undefined = undefined
  drained = 0
  faded = 0
  /** The signal that it listens to. */
  signal: AbortSignal | undefined = undefined
  /** The answer to a request that had to wait: itself, or a refusal. */
  verdict: Verdict = undefined
  /** Settles the promise of the answer, once there is one. */
  #resolve: (() => void) | undefined = undefined

  /** The options' functions provide missing properties. Throws their errors. */
  constructor(
    host: RequestHost,
    settings: QueueSettings,
    passage: Passage,
    cost: number,
    band: Band<QueuedRequest>,
    said: Said,
  ) {
    const { flow, path = flow } = passage
    const { width, perFlowConcurrency: most, pool, classOf, fairQueue } = settings
    this.#host = host
    this.flow = flow
    this.path = path
    this.cost = cost
    this.costSoFar = cost
    this.width = said.width ?? (typeof width === 'number' ? width : width(passage))
    this.units = pool === undefined ? 0 : (said.units ?? pool.unitsOf(passage))
    this.band = band
    this.className = classOf === undefined ? '' : classOf(passage)
    this.weight = weightInSteps(fairQueue.weightOf, flow)
    this.most = typeof most === 'number' ? most : most(flow)
    this.expected = band.queue.expected(path, cost, this.className)
    this.arrivedMs = passage.nowMs
  }

  answer(verdict: Verdict): void {
    this.verdict = verdict
    this.#resolve?.()
    this.#resolve = undefined
  }

  /** Resolves when a waiting request has its verdict. Not with it: engines look for a `then` in an object. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Resolves with the verdict of a waiting request. */
  answered(): Promise<Verdict> {
    return new Promise((resolve) => {
      this.#resolve = () => resolve(this.verdict)
    })
  }

  aborted(): void {
    this.#host.aborted(this)
  }

  charge(costSoFar: number): void {
    if (this.state === 'running') this.#host.charged(this, costSoFar)
  }

  finish(outcome: Outcome, cost: number, nowMs: number, isNamed = false): void {
    if (this.state !== 'running') return
    this.state = 'done'
    this.#host.finished(this, outcome, cost, nowMs, isNamed)
  }

  contest(): Contest {
    return this.#host.contest(this)
  }

  undo(_refusal: Refusal, nowMs: number): void {
    if (this.state !== 'running') return
    this.state = 'done'
    this.#host.undone(this, nowMs)
  }

  /** The permit of a running request, for a caller without a gate. */
  permit(clock: () => number): QueuePermit {
    let charges: number | undefined
    return {
      admitted: true,
      flow: this.flow,
      waitedMs: this.startedMs - this.arrivedMs,
      charge: (delta: number) => {
        requireNumber('delta', delta, 0)
        const sum = (charges ?? 0) + delta
        requireNumber('the sum of charges', sum, 0)
        charges = sum
        this.charge(charges)
      },
      finish: (outcome: Outcome = 'success', { cost: named = charges }: Settlement = {}) => {
        requireOneOf('outcome', outcome, outcomes)
        if (named !== undefined) requireNumber('cost', named, 0)
        this.finish(outcome, named ?? this.cost, clock(), named !== undefined)
      },
    }
  }
}

/** Whether the answer to a request is that it has to wait. */
export function isWaiting(asked: Verdict): asked is QueuedRequest {
  return asked instanceof QueuedRequest && asked.state === 'waiting'
}
