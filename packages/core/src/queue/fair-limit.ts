import type { Refusal } from '../admission/refusal.js'
import type { Hold, Passage } from '../admission/stage.js'
import { type Clock, steady, systemClock } from '../clock.js'
import { type Caller, callerNow, carryCallers } from '../http/context.js'
import { outcomeOf, ResourceExhaustedError } from '../http/outcome.js'
import { requireAbortSignal, requireFunction, requireInteger, requireOptions, show, withDefaults } from '../options.js'
import { type Flow, firstOf, requireFlow } from '../path.js'
import { requireCost } from '../sfq/options.js'
import { type BandOptions, QUEUE_OPTIONS, type RequestQueueOptions } from './options.js'
import { RequestQueue } from './request-queue.js'
import type { RequestQueueSnapshot } from './snapshot.js'

/** A piece of work. */
type Work<T> = () => T | PromiseLike<T>

/** What may be said of it. */
export interface LimitOptions {
  /** Fires when nobody needs it any more: what waits then leaves. @default that of the request in which it is asked for */
  signal?: AbortSignal | undefined
  /** A whole number from -2 to 2: the higher first. @default that of the request, else 0 */
  priority?: number
  /** What it is expected to cost its flow, from 1e-9 to 1e12, in units of your choice. @default 1 */
  cost?: number
}

/**
 * How a limit is made up: the options of a queue, with longer lines. Unless you say otherwise each priority is a band, of
 * which a lower one waits for as long as those above can use all slots; `maxWaitMs` is a day, `maxWaiting` and
 * `perFlowLimit` are 100 000.
 */
export type FairLimitOptions = RequestQueueOptions

/** Runs work in fair turns, up to a concurrency. */
export interface FairLimit {
  /**
   * Runs `work` when it is its flow's turn, and gives what it gives. Without a flow, the flow is that of the request in
   * which this is called, as an adapter's gate has named it, or `'background'` outside of any.
   *
   * Rejects with what the work throws; with the signal's reason if that fires before it has begun; and with a
   * {@link LimitRefusedError} if it may not wait, or has waited for too long. Throws on misuse.
   */
  <T>(work: Work<T>, options?: LimitOptions): Promise<T>
  <T>(flow: Flow, work: Work<T>, options?: LimitOptions): Promise<T>
  /** Resolves when nothing runs and nothing waits: at once, if so already. */
  onIdle(): Promise<void>
  /** Plain JSON for people, metrics and pages. */
  snapshot(): RequestQueueSnapshot
  /** Refuses what waits and what comes. What runs goes on. */
  close(): void
}

/** The work was not begun. Its status is 503: to a gate in front, the resource is short. */
export class LimitRefusedError extends ResourceExhaustedError {
  override readonly name = 'LimitRefusedError'
  /** Why, and the numbers that decided. */
  readonly refusal: Refusal
  /** How long to stay away, in milliseconds. */
  readonly retryAfterMs: number

  constructor(refusal: Refusal) {
    super(`the limit has refused: ${refusal.reason}`)
    this.refusal = refusal
    this.retryAfterMs = refusal.retryAfterMs
  }
}

const OPTIONS: readonly string[] = [...QUEUE_OPTIONS, 'clock', 'random', 'after']
const BACKGROUND = 'background'
const BANDS: readonly BandOptions[] = [{}, {}, {}, {}, {}]
const DAY_MS = 86_400_000
const MANY = 100_000

/** A piece of work, as the queue sees it. */
class Task<T> implements Passage {
  readonly flow: string
  readonly path: readonly string[] | undefined
  readonly cost: number
  readonly priority: number
  readonly nowMs: number
  readonly work: Work<T>
  readonly resource = undefined
  readonly exempt = false
  credit: number | undefined = undefined
  readonly #signal: AbortSignal | undefined
  readonly #caller: Caller | undefined

  constructor(flow: Flow | undefined, work: Work<T>, { cost = 1, priority, signal }: LimitOptions, nowMs: number) {
    this.#caller = callerNow()
    const own = flow ?? this.#caller?.permit?.path ?? this.#caller?.permit?.flow ?? BACKGROUND
    this.flow = firstOf(own)
    this.path = typeof own === 'string' ? undefined : own
    this.cost = cost
    this.priority = priority ?? this.#caller?.permit?.priority ?? 0
    this.#signal = signal
    this.work = work
    this.nowMs = nowMs
  }

  /** Asked only where it has to wait: a request makes its signal at the first reading. */
  get signal(): AbortSignal | undefined {
    return this.#signal ?? this.#caller?.signal
  }

  /** Throws the reason of a signal that was given and has fired. */
  requireWanted(): void {
    this.#signal?.throwIfAborted()
  }
}

const NO_OPTIONS: LimitOptions = {}

/**
 * A limit for anything that is asynchronous: jobs, a pool of connections, calls to a service. So much runs at once, as
 * many as `concurrency` says or as it learns (`adaptive()`), and flows take turns for it:
 *
 * ```ts
 * const limit = fairLimit({ concurrency: 10 })
 * const rows = await limit('tenant-7', () => pool.query(sql))
 * ```
 *
 * Outcomes are learned from: an error with status 429 or 503 (`ResourceExhaustedError` has one) means that there was not
 * enough, any other says nothing. Starts no timer before something waits. Throws a `RangeError` or `TypeError` that names
 * the option and its value.
 */
export function fairLimit(options: FairLimitOptions): FairLimit {
  requireOptions('fairLimit', options, OPTIONS)
  const { clock: given = systemClock } = options
  requireFunction('clock', given)
  const clock: Clock = steady(given)
  const queue = new RequestQueue({
    ...withDefaults(options, { bands: BANDS, maxWaitMs: DAY_MS, maxWaiting: MANY, perFlowLimit: MANY }),
    clock,
  })
  carryCallers()
  let pending = 0
  let idlers: (() => void)[] = []

  function ended(): void {
    if (--pending > 0) return
    for (const resolve of idlers) resolve()
    idlers = []
  }

  async function run<T>(task: Task<T>): Promise<T> {
    pending++
    let hold: Hold | undefined
    try {
      task.requireWanted()
      const asked = queue.admit(task)
      const verdict = asked instanceof Promise ? await asked : asked
      if (verdict !== undefined && 'admitted' in verdict) {
        if (verdict.reason === 'gone') task.signal?.throwIfAborted()
        throw new LimitRefusedError(verdict)
      }
      hold = verdict
      if (asked instanceof Promise && task.signal?.aborted === true) {
        hold?.finish('ignored', 0, clock())
        hold = undefined
        task.signal.throwIfAborted()
      }
      const result = await task.work()
      hold?.finish('success', task.cost, clock())
      return result
    } catch (error) {
      hold?.finish(outcomeOf(undefined, error ?? new Error('rejected')), task.cost, clock())
      throw error
    } finally {
      ended()
    }
  }

  /** Checks what was asked for, and begins. */
  function begin<T>(
    flow: Flow | undefined,
    work: Work<T> | LimitOptions | undefined,
    options: Work<T> | LimitOptions = NO_OPTIONS,
  ): Promise<T> {
    if (typeof work !== 'function') throw new TypeError(`work must be a function, got ${show(work)}`)
    if (typeof options === 'function') throw new TypeError('options must be an object, got a function')
    if (options !== NO_OPTIONS) requireLimitOptions(options)
    return run(new Task(flow, work, options, clock()))
  }

  function limit<T>(first: Flow | Work<T>, second?: Work<T> | LimitOptions, third?: LimitOptions): Promise<T> {
    if (typeof first === 'function') return begin(undefined, first, second)
    return begin(requireFlow(first), second, third)
  }

  return Object.assign(limit, {
    onIdle: () => (pending === 0 ? Promise.resolve() : new Promise<void>((resolve) => idlers.push(resolve))),
    snapshot: () => queue.snapshot(),
    close: () => queue.close(),
  })
}

function requireLimitOptions(options: LimitOptions): void {
  requireOptions('limit', options, ['signal', 'priority', 'cost'])
  const { cost, priority, signal } = options
  if (signal !== undefined) requireAbortSignal('signal', signal)
  if (cost !== undefined) requireCost('cost', cost)
  if (priority !== undefined) requireInteger('priority', priority, -2, 2)
}
