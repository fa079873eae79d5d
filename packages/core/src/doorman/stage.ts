import type { Mechanism } from '../admission/mechanism.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import { type After, systemAfter } from '../clock.js'
import { requireFunction, requireInteger, requireNumber, requireOneOf, requireOptions, show } from '../options.js'
import { unlisten } from '../signals.js'
import { GaugeLease } from './gauge-lease.js'
import { RateLease } from './rate-lease.js'

/** What a gate asks of a lease. */
export interface LeaseStageOptions {
  /** Made by `DoormanClient`: of a rate each request spends its cost, of a gauge it holds one slot. Not closed here. */
  resource: RateLease | GaugeLease
  /** Longest that a request may wait, in milliseconds, at least 0. @default 1000 */
  maxWaitMs?: number
  /** Most requests that may wait, at least 0. @default 1000 */
  maxWaiting?: number
  /**
   * What a gate does when the lease was closed. Of a server that is gone, the lease's mode decides. @default 'admit'
   */
  onError?: 'admit' | 'refuse'
}

/** Names of the options above. */
const LEASE_OPTIONS: readonly string[] = ['resource', 'maxWaitMs', 'maxWaiting', 'onError']

const STAGE = 'doorman'
/** When to come back, if nothing tells. */
const RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** A wait that its own end never came for is a failure of ours: the gate goes on without us then. */
const MARGIN_MS = 1_000

/**
 * A Doorman lease for `createGate({ doorman })`: keeps all requests inside it, first come, first served. Throws a
 * `TypeError` on an option that does not exist; what an option's value may be is checked when the gate is made.
 */
export function lease(options: LeaseStageOptions): Mechanism<'doorman'> {
  requireOptions('doorman', options, LEASE_OPTIONS)
  return { place: 'doorman', stage: ({ after }) => new LeaseStage({ ...options, after }) }
}

/**
 * A gate's stage that keeps all its requests together inside a lease, in order of arrival: they wait for up to
 * `maxWaitMs`, then they are refused with reason `overload`, which is a shortage. For turns that are fair between
 * flows, make the lease the capacity of a queue instead.
 *
 * Exempt requests do not wait, and count. A cost that is settled later is charged, or given back within its second.
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
      throw new TypeError(`resource must be a lease of a rate or a gauge, got ${show(resource)}`)
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

  /** The first of: its turn, its time, its client's leaving, the closing of the lease. */
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
    // As long as those who wait need, and this one, at the present rate.
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
