import { type Clock, steady, systemClock } from '../clock.js'
import { requireAbove, requireFunction, requireOptions, requireText } from '../options.js'
import { flowName } from './flow.js'
import { refuse } from './refusal.js'
import type { Passage, Stage, Verdict } from './stage.js'

/** Flows that may have an override at once. */
const MOST_FLOWS = 10_000

/** What is different for a flow, and until when, in milliseconds of the clock. */
interface Override {
  readonly kind: 'block' | 'boost'
  readonly factor: number
  readonly untilMs: number
}

/** What is different for one flow, as plain JSON. */
export interface OverrideSnapshot {
  readonly kind: 'block' | 'boost'
  /** What its weight is multiplied by. */
  readonly factor: number
  readonly leftMs: number
}

/** Options of {@link Overrides}. */
export interface OverridesOptions {
  /** Must be the gate's. @default the platform's monotonic clock */
  clock?: Clock
}

/**
 * What people decide about single flows while the service runs: to block one, or to give it more weight, for a time.
 * Give it to `createGate` as `overrides`: it is asked first, and its refusals (`overrides:blocked`) are seen by
 * observers and in the snapshot like all others. One override per flow, the last; up to 10 000 flows. O(1).
 */
export class Overrides implements Stage {
  readonly name = 'overrides'
  readonly #flows = new Map<string, Override>()
  readonly #clock: Clock

  constructor(options: OverridesOptions = {}) {
    requireOptions('overrides', options, ['clock'])
    const { clock = systemClock } = options
    requireFunction('clock', clock)
    this.#clock = steady(clock)
  }

  /** Refuses all that the flow asks, for `forMs` milliseconds, above 0. Exempt requests pass. */
  block(flow: string, forMs: number): void {
    this.#set(flow, 'block', 0, forMs)
  }

  /**
   * Multiplies the flow's weight by `factor`, above 0, for `forMs` milliseconds, in those of `fair`, `budget` and `queue`
   * that have no weights of their own.
   */
  boost(flow: string, factor: number, forMs: number): void {
    requireAbove('factor', factor, 0)
    this.#set(flow, 'boost', factor, forMs)
  }

  /** The flow is one like all others again. False if it was. */
  clear(flow: string): boolean {
    return this.#flows.delete(flowName(flow))
  }

  /** What the weight of a flow is to be multiplied by, now. */
  factor(flow: string): number {
    if (this.#flows.size === 0) return 1
    const override = this.#of(flow, this.#clock())
    return override?.kind === 'boost' ? override.factor : 1
  }

  /** The gate's question. */
  admit({ flow, exempt }: Passage): Verdict {
    if (this.#flows.size === 0 || exempt) return undefined
    const nowMs = this.#clock()
    const override = this.#of(flow, nowMs)
    return override?.kind === 'block' ? refuse(this.name, 'blocked', false, override.untilMs - nowMs) : undefined
  }

  /** What is different now, by flow. */
  snapshot(): Record<string, OverrideSnapshot> {
    const nowMs = this.#clock()
    const all: Record<string, OverrideSnapshot> = {}
    for (const flow of [...this.#flows.keys()]) {
      const override = this.#of(flow, nowMs)
      if (override === undefined) continue
      const { kind, factor, untilMs } = override
      Object.defineProperty(all, flow, { value: { kind, factor, leftMs: untilMs - nowMs }, enumerable: true })
    }
    return all
  }

  #set(flow: string, kind: Override['kind'], factor: number, forMs: number): void {
    requireText('flow', flow)
    requireAbove('forMs', forMs, 0)
    const name = flowName(flow)
    this.#flows.delete(name)
    // The one that was set longest ago makes room.
    if (this.#flows.size >= MOST_FLOWS) this.#flows.delete(this.#flows.keys().next().value!)
    this.#flows.set(name, { kind, factor, untilMs: this.#clock() + forMs })
  }

  #of(flow: string, nowMs: number): Override | undefined {
    const override = this.#flows.get(flow)
    if (override === undefined || override.untilMs > nowMs) return override
    this.#flows.delete(flow)
    return undefined
  }
}
