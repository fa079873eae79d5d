import { type Clock, steady, systemClock } from '../clock.js'
import type { Words } from '../hash.js'
import { requireAbove, requireFunction, requireOptions, requireText } from '../options.js'
import { flowName, ownCopy } from '../path.js'
import { nearestWeight, requireWeight, type WeightOf, weightFrom } from '../weight.js'
import { Listeners } from './events.js'
import { refuse } from './refusal.js'
import type { Passage, Stage, Verdict } from './stage.js'

/** Most flows with an override at the same time. */
const MOST_FLOWS = 10_000

/** Longest duration of an override: about thirty years, so that `Retry-After` stays finite. */
const MOST_MS = 1e12

/** Burst of a held flow after a pause, in seconds of its rate. */
const HOLD_SECONDS = 1

/** A flow's override and its end, in milliseconds of the clock. */
interface Override {
  readonly kind: 'block' | 'boost' | 'hold'
  readonly factor: number
  /** Of a held flow: its permitted rate, and the time at which its debt is paid. */
  readonly costPerSecond: number
  paidMs: number
  readonly untilMs: number
}

/** The override of one flow, as plain JSON. */
export interface OverrideSnapshot {
  readonly kind: 'block' | 'boost' | 'hold'
  /** Factor of its weight: 0 for a blocked flow, 1 for a held one. */
  readonly factor: number
  /** Permitted rate of a held flow; undefined for others. */
  readonly costPerSecond: number | undefined
  readonly leftMs: number
}

/** A change of a flow's override, for an audit. `clear`: the flow has no override any more. */
export interface OverrideChange {
  readonly flow: string
  readonly kind: OverrideSnapshot['kind'] | 'clear'
  readonly factor: number | undefined
  readonly costPerSecond: number | undefined
  readonly forMs: number | undefined
  /** The person who made the change, if it was given. */
  readonly by: string | undefined
}

/** Options of {@link Overrides}. */
export interface OverridesOptions {
  /** Must be the gate's. @default the platform's monotonic clock */
  clock?: Clock
}

/**
 * Operators' decisions about single flows while the service runs: block a flow, hold it at a rate, or give it more
 * weight, for a time. Pass it to `createGate` as `overrides`. It is asked before all stages; observers and the snapshot
 * see its refusals (`overrides:blocked`, `overrides:held`) like all others, and each change as an event `override`.
 * `by` names the operator for that event. One override per flow, the last; up to 10 000 flows. O(1).
 */
export class Overrides implements Stage {
  readonly name = 'overrides'
  readonly #flows = new Map<string, Override>()
  readonly #listeners = new Listeners<OverrideChange>()
  readonly #clock: Clock
  /** The name key of the gates that use these overrides; undefined before the first. */
  #nameKey: { readonly key: Words | undefined } | undefined
  #weighs = false
  /** No override ends before this. */
  #nextEndMs = Number.POSITIVE_INFINITY

  constructor(options: OverridesOptions = {}) {
    requireOptions('overrides', options, ['clock'])
    const { clock = systemClock } = options
    requireFunction('clock', clock)
    this.#clock = steady(clock)
  }

  /**
   * @internal Shortens names as the gate does from now on, including those that were given before. Throws a `TypeError`
   * if a gate with another `nameSecret` uses these overrides: an override would apply in only one of them.
   */
  shortenBy(key: Words | undefined): void {
    const known = this.#nameKey
    if (known !== undefined && (known.key?.a !== key?.a || known.key?.b !== key?.b))
      throw new TypeError('overrides must not be shared by gates with different nameSecrets')
    this.#nameKey = { key }
    const before = [...this.#flows]
    this.#flows.clear()
    for (const [flow, override] of before) this.#flows.set(this.#nameOf(flow), override)
  }

  /** Refuses all requests of the flow, for `forMs` milliseconds, above 0, at most 1e12. Exempt requests pass. */
  block(flow: string, forMs: number, by?: string): void {
    this.#set(flow, { kind: 'block', factor: 0, costPerSecond: 0 }, forMs, by)
  }

  /**
   * Limits the flow to `costPerSecond`, from 1e-9 to 1e12, for `forMs` milliseconds, whether there is a shortage or
   * not. The burst is a second's worth, and its last request may cost more than the rest. Renewing a hold keeps the
   * debt that the flow has run up. Exempt requests pass.
   */
  hold(flow: string, costPerSecond: number, forMs: number, by?: string): void {
    requireWeight('costPerSecond', costPerSecond)
    this.#set(flow, { kind: 'hold', factor: 1, costPerSecond }, forMs, by)
  }

  /**
   * Multiplies the flow's weight by `factor`, from 1e-9 to 1e12, for `forMs` milliseconds, with the product clamped to
   * the range of weights, in each of `fair`, `budget` and `queue` that has no weights of its own.
   */
  boost(flow: string, factor: number, forMs: number, by?: string): void {
    requireWeight('factor', factor)
    this.#set(flow, { kind: 'boost', factor, costPerSecond: 0 }, forMs, by)
  }

  /** Removes the flow's override. False if it had none. */
  clear(flow: string, by?: string): boolean {
    const name = this.#nameOf(flow)
    if (!this.#flows.delete(name)) return false
    this.#listeners.tell({
      flow: name,
      kind: 'clear',
      factor: undefined,
      costPerSecond: undefined,
      forMs: undefined,
      by,
    })
    return true
  }

  /**
   * Calls `listener` with each change from now on. Returns a function that removes the listener. If a listener throws
   * or rejects, the change still applies, and the gate's snapshot counts a listener's error.
   */
  onChange(listener: (change: OverrideChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** @internal Times that a listener threw or rejected. */
  get failures(): number {
    return this.#listeners.failures
  }

  /** True once a mechanism has asked for a weight. Until then a boost changes nothing. */
  get weighs(): boolean {
    return this.#weighs
  }

  /** The present factor of a flow's weight. */
  factor(flow: string): number {
    this.#weighs = true
    if (this.#flows.size === 0) return 1
    const override = this.#of(flow, this.#clock())
    return override?.kind === 'boost' ? override.factor : 1
  }

  /** @internal These weights, those of flows times their present factors, clamped to the range of weights. */
  weighing(weightOf: WeightOf | undefined): WeightOf {
    return (flow, above) => {
      const weight = weightFrom(weightOf, flow, above)
      return above.length === 0 ? nearestWeight(weight * this.factor(flow)) : weight
    }
  }

  /** Judges a request for the gate. */
  admit({ flow, cost, exempt }: Passage): Verdict {
    if (this.#flows.size === 0 || exempt) return undefined
    const nowMs = this.#clock()
    const override = this.#of(flow, nowMs)
    if (override === undefined || override.kind === 'boost') return undefined
    const leftMs = override.untilMs - nowMs
    if (override.kind === 'block') return refuse(this.name, 'blocked', false, leftMs)
    const { costPerSecond, paidMs } = override
    if (paidMs > nowMs) return refuse(this.name, 'held', false, Math.min(leftMs, paidMs - nowMs), { costPerSecond })
    override.paidMs = Math.max(paidMs, nowMs - 1_000 * HOLD_SECONDS) + (1_000 * cost) / costPerSecond
    return undefined
  }

  /** The override of a flow, if it has one. */
  explain(flow: string): OverrideSnapshot | undefined {
    const nowMs = this.#clock()
    const override = this.#of(this.#nameOf(flow), nowMs)
    return override && shown(override, nowMs)
  }

  /** The present overrides, by flow. */
  snapshot(): Record<string, OverrideSnapshot> {
    const nowMs = this.#clock()
    const all: Record<string, OverrideSnapshot> = {}
    for (const flow of [...this.#flows.keys()]) {
      const override = this.#of(flow, nowMs)
      if (override === undefined) continue
      Object.defineProperty(all, flow, { value: shown(override, nowMs), enumerable: true })
    }
    return all
  }

  #set(
    flow: string,
    what: Pick<Override, 'kind' | 'factor' | 'costPerSecond'>,
    forMs: number,
    by: string | undefined,
  ): void {
    const name = this.#nameOf(flow)
    requireAbove('forMs', forMs, 0, MOST_MS)
    const nowMs = this.#clock()
    const { kind, factor, costPerSecond } = what
    const before = this.#flows.get(name)
    let paidMs = nowMs - 1_000 * HOLD_SECONDS
    if (kind === 'hold' && before?.kind === 'hold' && before.untilMs >= paidMs)
      paidMs = nowMs + ((before.paidMs - nowMs) * before.costPerSecond) / costPerSecond
    this.#flows.delete(name)
    this.#makeRoom(nowMs)
    const untilMs = nowMs + forMs
    this.#flows.set(name, { ...what, paidMs, untilMs })
    this.#nextEndMs = Math.min(this.#nextEndMs, untilMs)
    this.#listeners.tell({
      flow: name,
      kind,
      factor: kind === 'boost' ? factor : undefined,
      costPerSecond: kind === 'hold' ? costPerSecond : undefined,
      forMs,
      by,
    })
  }

  /** Drops expired overrides, or else the oldest one. */
  #makeRoom(nowMs: number): void {
    if (this.#flows.size < MOST_FLOWS) return
    if (nowMs >= this.#nextEndMs) {
      this.#nextEndMs = Number.POSITIVE_INFINITY
      for (const flow of this.#flows.keys()) {
        const override = this.#of(flow, nowMs)
        if (override !== undefined) this.#nextEndMs = Math.min(this.#nextEndMs, override.untilMs)
      }
    }
    if (this.#flows.size >= MOST_FLOWS) this.#flows.delete(this.#flows.keys().next().value!)
  }

  #nameOf(flow: string): string {
    requireText('flow', flow)
    return ownCopy(this.#nameKey === undefined ? flow : flowName(flow, this.#nameKey.key))
  }

  #of(flow: string, nowMs: number): Override | undefined {
    const override = this.#flows.get(flow)
    if (override === undefined || override.untilMs > nowMs) return override
    this.#flows.delete(flow)
    return undefined
  }
}

function shown({ kind, factor, costPerSecond, untilMs }: Override, nowMs: number): OverrideSnapshot {
  return { kind, factor, costPerSecond: kind === 'hold' ? costPerSecond : undefined, leftMs: untilMs - nowMs }
}
