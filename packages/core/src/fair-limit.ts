import type { Refusal } from './admission/refusal.js'
import type { Hold, Passage, Verdict } from './admission/stage.js'
import { type Clock, steady, systemClock } from './clock.js'
import { type Caller, callerNow, carryCallers } from './http/context.js'
import { outcomeOf, ResourceExhaustedError } from './http/outcome.js'
import { fail, requireAbortSignal, requireFunction, requireInteger, requireOptions, withDefaults } from './options.js'
import { type Flow, firstOf, requireFlow } from './path.js'
import {
  type BandOptions,
  QUEUE_OPTIONS,
  type RequestQueueOptions,
  type RequestQueueSnapshot,
} from './queue/options.js'
import { isWaiting } from './queue/queued-request.js'
import { RequestQueue } from './queue/request-queue.js'
import { requireCost } from './sfq/options.js'

/** A piece of work. */
type Work<T> = () => T | PromiseLike<T>

/** Options of a piece of work. */
export interface LimitOptions {
  /** Fires when the work is no longer needed: waiting work then leaves. @default that of the current request */
  signal?: AbortSignal | undefined
  /** A whole number from -2 to 2: the higher first. @default that of the request, else 0 */
  priority?: number
  /** Its expected cost, from 1e-9 to 1e12, in units of your choice. @default 1 */
  cost?: number
}

/**
 * Options of a limit: those of a queue, with longer lines. By default each priority is a band, and a lower one waits
 * while those above can use all slots; `maxWaitMs` is a day, `maxWaiting` and `perFlowLimit` are 100 000.
 */
export type FairLimitOptions = RequestQueueOptions

/** Runs work in fair turns, up to a concurrency. */
export interface FairLimit {
  /**
   * Runs `work` when it is its flow's turn, and resolves with its result. Without a flow, the flow is that of the
   * current request, as named by an adapter's gate, or `'background'` outside of any.
   *
   * Rejects with the error of the work, or of an option's function; with the signal's reason if it fires before the
   * work has begun; and with a {@link LimitRefusedError} if the work may not wait, or has waited for too long. Throws
   * on misuse.
   */
  <T>(work: Work<T>, options?: LimitOptions): Promise<T>
  <T>(flow: Flow, work: Work<T>, options?: LimitOptions): Promise<T>
  /** Resolves when nothing runs and nothing waits: immediately, if that is the case already. */
  onIdle(): Promise<void>
  /** Plain JSON for people, metrics and pages. */
  snapshot(): RequestQueueSnapshot
  /** Refuses waiting and new work. Running work continues. */
  close(): void
}

/** The work was not begun. Its status is 503: to a gate in front, the resource is short. */
export class LimitRefusedError extends ResourceExhaustedError {
  override readonly name = 'LimitRefusedError'
  /** The reason, and the numbers behind the decision. */
  readonly refusal: Refusal
  /** Retry delay, in milliseconds. */
  readonly retryAfterMs: number

  constructor(refusal: Refusal) {
    super(`the limit has refused: ${refusal.reason}`)
    this.refusal = refusal
    this.retryAfterMs = refusal.retryAfterMs
  }
}

const BACKGROUND = 'background'
const BANDS: readonly BandOptions[] = [{}, {}, {}, {}, {}]
const DAY_MS = 86_400_000
const MANY = 100_000

/** A piece of work in the queue's terms. */
class Task<T> implements Passage {
  readonly flow: string
  readonly path: readonly string[] | undefined
  readonly cost: number
  readonly priority: number
  readonly nowMs: number
  readonly work: Work<T>
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

  get resource(): undefined {
    return undefined
  }

  get exempt(): boolean {
    return false
  }

  get credit(): undefined {
    return undefined
  }

  /** Read only if it has to wait: a request creates its signal at the first reading. */
  get signal(): AbortSignal | undefined {
    return this.#signal ?? this.#caller?.signal
  }

  /** Throws the reason of a given signal that has fired. */
  requireWanted(): void {
    this.#signal?.throwIfAborted()
  }
}

const NO_OPTIONS: LimitOptions = {}

/**
 * A limit for any asynchronous work: jobs, a pool of connections, calls to a service. `concurrency` bounds the amount
 * that runs at once, or it is learnt (`adaptive()`), and flows take turns for it:
 *
 * ```ts
 * const limit = fairLimit({ concurrency: 10 })
 * const rows = await limit('tenant-7', () => pool.query(sql))
 * ```
 *
 * It learns from outcomes: an error with status 429 or 503 (`ResourceExhaustedError` has one) means a shortage, any
 * other is no evidence. Starts no timer before work waits. Throws a `RangeError` or `TypeError` that names the option
 * and its value.
 */
export function fairLimit(options: FairLimitOptions): FairLimit {
  requireOptions('fairLimit', options, [...QUEUE_OPTIONS, 'clock', 'random', 'after'])
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
      const asked = queue.ask(task)
      if (isWaiting(asked)) {
        await asked.turn()
        hold = holdOf(task, asked.verdict, true)
      } else hold = holdOf(task, asked, false)
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

  /** Throws if the work may not begin. */
  function holdOf<T>(task: Task<T>, verdict: Verdict, waited: boolean): Hold | undefined {
    if (verdict !== undefined && 'admitted' in verdict) {
      if (verdict.reason === 'gone') task.signal?.throwIfAborted()
      throw new LimitRefusedError(verdict)
    }
    if (waited && task.signal?.aborted === true) {
      verdict?.finish('ignored', 0, clock())
      task.signal.throwIfAborted()
    }
    return verdict
  }

  /** Checks the arguments, and begins. */
  function begin<T>(
    flow: Flow | undefined,
    work: Work<T> | LimitOptions | undefined,
    options: Work<T> | LimitOptions = NO_OPTIONS,
  ): Promise<T> {
    if (typeof work !== 'function') fail('work', 'a function', work)
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
