import type { Settlement } from '../admission/decision.js'
import { type Outcome, outcomes } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Contest, Hold, Passage, Verdict } from '../admission/stage.js'
import {
  requireAbortSignal,
  requireBoolean,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
} from '../options.js'
import { type Flow, firstOf, requireFlow } from '../path.js'
import type { Ticket } from '../sfq/index.js'
import { requireCost } from '../sfq/options.js'
import type { Band, Drained } from './bands.js'
import type { Timed } from './deadline-queue.js'
import type { FlowRecord } from './flow-record.js'
import { type QueueSettings, requireDeadline, requireUnits, requireWidth } from './options.js'
import type { Need } from './slots.js'

/**
 * Why a queue refuses.
 *
 * For lack of capacity, which teaches FAIR (`shortage: true`):
 * - `flow-full`: its flow has as many waiting requests as it may;
 * - `queue-full`: its band has as many waiting requests as it may;
 * - `would-wait-too-long`: at the rate at which the queue drains, its turn would not come in time;
 * - `expired`: it waited for as long as it could;
 * - `evicted`: it waited, and its place went to a flow that had less waiting.
 *
 * For other reasons, which teach nothing (`shortage: false`):
 * - `deadline`: on arrival its deadline had passed, or would have passed before it could wait and run. It took nothing
 *   from other requests, and its client may have asked for the impossible; a request that waited and then ran out of
 *   time is `expired`, because more capacity would have saved it;
 * - `too-wide`: it needs more slots, or units of the pool, than there can ever be, so `retryAfterMs` is infinite: it need not come back;
 * - `gone`: its signal fired;
 * - `closed`: the queue was closed.
 */
export type QueueReason = keyof typeof SHORTAGE

/** Whether a refusal for this reason means that there was not enough capacity. */
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

/** A request, where the queue is used without a gate. What is missing, the queue's options decide. */
export interface QueueRequest {
  /** What we are fair between: a name, not empty, or a path of up to four: `['account', 'key']`. */
  flow: Flow
  /** What it is expected to cost its flow, from 1e-9 to 1e12, in units of your choice. @default its width */
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

/** The request as a gate would pass it on. Throws a `RangeError` or `TypeError` that names what is wrong with it. */
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

/** A request that runs, where the queue is used without a gate. */
export interface QueuePermit {
  readonly admitted: true
  readonly flow: string
  /** How long it waited, in milliseconds. */
  readonly waitedMs: number
  /** Says what more it has used while it runs, from 0 on; see the permit of a gate. Throws on a bad `delta`, or sum. */
  charge(delta: number): void
  /**
   * Says how the request ended and what it really cost. Exactly one call counts; later ones do nothing. Throws on an
   * unknown outcome or a bad cost, and then it did not count.
   */
  finish(outcome?: Outcome, settlement?: Settlement): void
}

/** The queue's side of a request: it hears what becomes of it. */
export interface RequestHost {
  /** The signal of a request that may be waiting fired. */
  aborted(request: QueuedRequest): void
  /** A running request has cost this so far. */
  charged(request: QueuedRequest, costSoFar: number): void
  /** A running request has ended; called once. `isNamed`: somebody has said what it cost. */
  finished(request: QueuedRequest, outcome: Outcome, cost: number, nowMs: number, isNamed: boolean): void
  /** A request that started did not run after all; called once, instead. */
  undone(request: QueuedRequest, nowMs: number): void
  /** Who waits for the slots of a running request. */
  contest(request: QueuedRequest): Contest
}

/** What a request takes, and what its flow may have, as the options had it at its arrival. */
export interface Terms extends Need {
  readonly cost: number
  readonly band: Band<QueuedRequest>
  /** The class under which its duration is remembered. */
  readonly className: string
  /** Its flow's weight, and the slots that its flow may have at most. */
  readonly weight: number
  readonly most: number
}

/** One request in the queue. It may wait; then it runs, and is its own hold, or is refused. */
export class QueuedRequest implements Hold, Timed<QueuedRequest>, Terms {
  readonly #host: RequestHost
  /** The first name of its path. */
  readonly flow: string
  readonly path: Flow
  readonly cost: number
  /** What it was expected to cost at its arrival. */
  readonly expected: number
  readonly width: number
  readonly units: number
  readonly band: Band<QueuedRequest>
  readonly className: string
  readonly weight: number
  readonly most: number
  readonly arrivedMs: number
  startByMs = 0
  position = -1
  next: QueuedRequest | undefined = undefined
  previous: QueuedRequest | undefined = undefined
  state: 'new' | 'waiting' | 'running' | 'done' = 'new'
  startedMs = 0
  /** What it has cost so far, if that is told while it runs; what it declared, at least. */
  costSoFar: number
  /** What passed it, while it was too wide for what its band may have. */
  passedWidth = 0
  passedUnits = 0
  /** Its flow's record, written by `FlowSlots` alone. */
  account: FlowRecord | undefined = undefined
  /** Its ticket in the fair queue, set when it waits. */
  ticket: Ticket<QueuedRequest> | undefined = undefined
  /** Set when it starts after it waited. */
  drained: Drained | undefined = undefined
  /** The signal that it listens to. */
  signal: AbortSignal | undefined = undefined
  /** Settles the promise, once there is one. */
  resolve: ((verdict: Verdict) => void) | undefined = undefined
  /** The answer: itself, or a refusal. */
  verdict: Verdict = undefined

  constructor(host: RequestHost, { flow, path, nowMs }: Passage, terms: Terms) {
    this.#host = host
    this.flow = flow
    this.path = path ?? flow
    this.cost = terms.cost
    this.costSoFar = terms.cost
    this.expected = terms.band.queue.expected(this.path, terms.cost, terms.className)
    this.width = terms.width
    this.units = terms.units
    this.band = terms.band
    this.className = terms.className
    this.weight = terms.weight
    this.most = terms.most
    this.arrivedMs = nowMs
  }

  answer(verdict: Verdict): void {
    this.verdict = verdict
    this.resolve?.(verdict)
    this.resolve = undefined
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
