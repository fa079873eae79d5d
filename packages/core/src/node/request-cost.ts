import type { SignalHost } from '../shed/signal.js'

/** Learning what a request costs: shortest time, and least requests, that teach; most sheds; weight of the news. */
const WINDOW_MS = 500
const WINDOW_REQUESTS = 10
const MOST_SHED = 0.1
const COST_GAIN = 0.3

/** CPU time per finished request, learned while hardly any are refused: overload must not teach what is normal. */
export class RequestCost {
  /** CPU milliseconds per request; 0 until learned. */
  ms = 0

  readonly #activeMs: () => number
  #sinceMs = 0
  #active = 0
  #finished = 0
  #refused = 0
  #admitted = 0

  constructor(activeMs: () => number) {
    this.#activeMs = activeMs
  }

  begin(nowMs: number, { totals }: SignalHost): void {
    this.#sinceMs = nowMs
    this.#active = this.#activeMs()
    this.#finished = totals.finished
    this.#refused = totals.refused
    this.#admitted = totals.admitted
  }

  /** True if there was news. */
  learn(nowMs: number, host: SignalHost): boolean {
    const finished = host.totals.finished - this.#finished
    if (nowMs - this.#sinceMs < WINDOW_MS || finished < WINDOW_REQUESTS) return false
    const refused = host.totals.refused - this.#refused
    const decided = refused + host.totals.admitted - this.#admitted
    const taught = refused <= MOST_SHED * decided
    if (taught) {
      const cost = Math.max(0, this.#activeMs() - this.#active) / finished
      this.ms = this.ms === 0 ? cost : this.ms + COST_GAIN * (cost - this.ms)
    }
    this.begin(nowMs, host)
    return taught
  }
}
