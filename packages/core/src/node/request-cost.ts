import type { SignalHost } from '../shed/signal.js'

/** Learning what a request costs: shortest time, and least requests, that teach; weight of the news. */
const WINDOW_MS = 500
const WINDOW_REQUESTS = 10
const COST_GAIN = 0.3

/**
 * CPU time per request that ran.
 *
 * To refuse a request costs something too, and nobody knows how much: at most what one that ran costs. So a window says
 * between which two values the cost is, and what is known moves there only as far as it must.
 */
export class RequestCost {
  /** CPU milliseconds per request; 0 until learned. */
  ms = 0

  readonly #activeMs: () => number
  #sinceMs = 0
  #active = 0
  #finished = 0
  #refused = 0

  constructor(activeMs: () => number) {
    this.#activeMs = activeMs
  }

  begin(nowMs: number, { totals }: SignalHost): void {
    this.#sinceMs = nowMs
    this.#active = this.#activeMs()
    this.#finished = totals.finished
    this.#refused = totals.refused
  }

  /** True if there was news. */
  learn(nowMs: number, host: SignalHost): boolean {
    const finished = host.totals.finished - this.#finished
    if (nowMs - this.#sinceMs < WINDOW_MS || finished < WINDOW_REQUESTS) return false
    const refused = host.totals.refused - this.#refused
    const activeMs = Math.max(0, this.#activeMs() - this.#active)
    const cost = Math.min(Math.max(this.ms, activeMs / (finished + refused)), activeMs / finished)
    this.ms = this.ms === 0 ? cost : this.ms + COST_GAIN * (cost - this.ms)
    this.begin(nowMs, host)
    return true
  }
}
