import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Mechanism, Passage, Stage, Verdict } from '../admission/stage.js'
import { type After, systemAfter } from '../clock.js'
import { fail, requireFunction, requireInteger, requireNumber, requireOneOf, requireOptions } from '../options.js'
import { unlisten } from '../signals.js'
import { GaugeLease } from './gauge-lease.js'
import { RateLease } from './rate-lease.js'

/** Options of {@link lease}. */
export interface LeaseStageOptions {
  /**
   * Made by `DoormanClient`. Each request spends its cost of a rate, or holds one slot of a gauge. The stage does not
   * close it.
   */
  resource: RateLease | GaugeLease
  /** Longest that a request may wait, in milliseconds, at least 0. @default 1000 */
  maxWaitMs?: number
  /** Most requests that may wait, at least 0. @default 1000 */
  maxWaiting?: number
  /**
   * The gate's answer after the lease was closed. If no server answers, the lease's mode decides. @default 'admit'
   */
  onError?: 'admit' | 'refuse'
}

/** Names of the options above. */
const LEASE_OPTIONS: readonly string[] = ['resource', 'maxWaitMs', 'maxWaiting', 'onError']

const STAGE = 'doorman'
/** Retry time if nothing better is known. */
const RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** A wait that never ends is an error of this stage: the gate then goes on without it. */
const MARGIN_MS = 1_000

/**
 * A Doorman lease for `createGate({ doorman })`: keeps all requests inside it, first come, first served. Throws a
 * `TypeError` on an unknown option; the values of options are checked when the gate is made.
 */
export function lease(options: LeaseStageOptions): Mechanism<'doorman'> {
  requireOptions('doorman', options, LEASE_OPTIONS)
  return { place: 'doorman', stage: ({ after }) => new LeaseStage({ ...options, after }) }
}

/**
 * A gate's stage that keeps all requests together inside a lease, in order of arrival. A request waits for up to
 * `maxWaitMs`; then the stage refuses it with reason `overload`, which is a shortage. For turns that are fair between
 * flows, make the lease the capacity of a queue instead.
 *
 * Exempt requests do not wait, but count. If the settled cost is higher, the rest is charged; if it is lower, the
 * difference is given back within its second.
 */
export class LeaseStage implements Stage {
  readonly name: 'doorman' = STAGE
  readonly onError: 'admit' | 'refuse'
  readonly deadlineMs: number
  readonly #resource: RateLease | GaugeLease
  readonly #maxWaitMs: number
  readonly #maxWaiting: number
  readonly #after: After
  #refused = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: LeaseStageOptions & { after?: After }) {
    requireOptions('doorman', options, [...LEASE_OPTIONS, 'after'])
    const { resource, maxWaitMs = 1_000, maxWaiting = 1_000, onError = 'admit', after = systemAfter } = options
    if (!(resource instanceof RateLease || resource instanceof GaugeLease))
      fail('resource', 'a lease of a rate or a gauge', resource)
    requireNumber('maxWaitMs', maxWaitMs, 0)
    requireInteger('maxWaiting', maxWaiting, 0)
    requireOneOf('onError', onError, ['admit', 'refuse'])
    requireFunction('after', after)
    this.#resource = resource
    this.#maxWaitMs = maxWaitMs
    this.#maxWaiting = maxWaiting
    this.#after = after
    this.onError = onError
    this.deadlineMs = maxWaitMs + MARGIN_MS
  }

  admit(passage: Passage): Verdict | Promise<Verdict> {
    const resource = this.#resource
    const units = resource instanceof RateLease ? passage.cost : 1
    if (passage.exempt) resource.charge(units)
    else if (resource.closed) throw new Error(`the lease of ${resource.id} is closed`)
    else if (!resource.tryTake(units)) {
      if (this.#maxWaitMs > 0 && resource.waiting < this.#maxWaiting) return this.#wait(units, passage.signal)
      return this.#refuse(units)
    }
    return holdOf(resource, units)
  }

  snapshot(): unknown {
    return { refused: this.#refused, resource: this.#resource.snapshot() }
  }

  /** Settles with the first of: its turn, its time-out, its client's departure, the closing of the lease. */
  #wait(units: number, signal: AbortSignal | undefined): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      const resource = this.#resource
      const leave = resource.join(units, (error) => {
        done()
        if (error === undefined) resolve(holdOf(resource, units))
        else reject(error)
      })
      const quit = (refusal: Refusal): void => {
        done()
        leave()
        resolve(refusal)
      }
      const gone = (): void => quit(refuse(STAGE, 'gone', false, 0))
      const cancel = this.#after(this.#maxWaitMs, () => quit(this.#refuse(units)))
      const done = (): void => {
        cancel()
        unlisten(signal, gone)
      }
      signal?.addEventListener('abort', gone)
    })
  }

  #refuse(units: number): Refusal {
    this.#refused++
    const { id, capacity, waiting } = this.#resource
    const detail = { resource: id, capacity, waiting }
    // The time that the waiting requests and this one need at the present rate.
    const seconds = this.#resource instanceof RateLease && capacity > 0 ? (waiting + 1) * (units / capacity) : 0
    return refuse(STAGE, 'overload', true, Math.min(LAST_RETRY_MS, Math.max(RETRY_MS, 1_000 * seconds)), detail)
  }
}

function holdOf(resource: RateLease | GaugeLease, units: number): Hold {
  if (resource instanceof GaugeLease) {
    const back = (): void => resource.release(units)
    return { finish: back, undo: back }
  }
  const spentMs = resource.nowMs
  return {
    finish(_outcome, cost) {
      if (cost > units) resource.charge(cost - units)
      else if (cost < units) resource.refund(units - cost, spentMs)
    },
    undo: () => resource.refund(units, spentMs),
  }
}
