interface Backlog {
  waiting: number
  readonly sinceMs: number
}

/** How long each flow has had something waiting, without a break. A record per waiting flow. */
export class Backlogs {
  readonly #flows = new Map<string, Backlog>()

  get size(): number {
    return this.#flows.size
  }

  /** A request of the flow starts to wait. Gives how long there has been one, in milliseconds. */
  came(flow: string, nowMs: number): number {
    const backlog = this.#flows.get(flow)
    if (backlog === undefined) {
      this.#flows.set(flow, { waiting: 1, sinceMs: nowMs })
      return 0
    }
    backlog.waiting++
    return nowMs - backlog.sinceMs
  }

  /** One waits no more. */
  left(flow: string): void {
    const backlog = this.#flows.get(flow)
    if (backlog !== undefined && --backlog.waiting === 0) this.#flows.delete(flow)
  }
}
