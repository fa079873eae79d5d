import type { Random } from '@fairlead/core'
import type { EscrowDecision, Reserve } from '@fairlead/core/escrow'
import { WeightedFairEscrow } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { Heap } from '../capacity/heap.js'

/**
 * A tenant that wants as much as it can get: at each visit it asks until it is refused. Only at the start of a window
 * it asks once, so that all are present before one has taken the others' unused budget.
 */
export interface Client {
  weight: number
  /** Cost of a request; two numbers: drawn anew for each, whole numbers from the first to the second. */
  cost: number | readonly [number, number]
  /** When it returns after a refusal: when it was told to, or at this interval in ms regardless of that. */
  returns: 'as-told' | number
  /** Returns later than intended by up to this much, in milliseconds. @default 0 */
  lateMs?: number
  /** Pauses until the next window after this part of its weight's share of the limit. @default Infinity */
  pausesAt?: number
}

export interface ClientScenario {
  seed: number
  limit: number
  windowMs: number
  reserve: Reserve
  windows: number
  clients: readonly Client[]
}

/** Results of a window. */
export interface ClientWindow {
  /** By client. */
  used: number[]
  asked: number
  allowed: number
}

/** Runs clients on one escrow, each independently, and returns the usage window by window. */
export function simulateClients({ seed, limit, windowMs, reserve, windows, clients }: ClientScenario): ClientWindow[] {
  const random = seededRandom(seed)
  const events: Heap<() => void> = new Heap()
  const weights = clients.reduce((sum, { weight }) => sum + weight, 0)
  let nowMs = 0
  const escrow = new WeightedFairEscrow({
    limit,
    windowMs,
    reserve,
    weightOf: (tenant) => clients[Number(tenant)]!.weight,
    clock: () => nowMs,
  })
  const result: ClientWindow[] = []
  const windowNow = (): ClientWindow => {
    const at = Math.floor(nowMs / windowMs)
    while (result.length <= at) result.push({ used: clients.map(() => 0), asked: 0, allowed: 0 })
    return result[at]!
  }
  const start = (i: number): void => {
    const { weight, cost, returns, lateMs = 0, pausesAt = Number.POSITIVE_INFINITY } = clients[i]!
    const most = (pausesAt * limit * weight) / weights
    let wanted = costFrom(random, cost)
    const later = (ms: number): void => events.push(nowMs + ms + lateMs * random(), ask)
    const once = (): EscrowDecision => {
      const window = windowNow()
      window.asked++
      const decision = escrow.check(String(i), wanted)
      if (!decision.allowed) return decision
      window.allowed++
      window.used[i]! += wanted
      wanted = costFrom(random, cost)
      return decision
    }
    const ask = (): void => {
      const { used } = windowNow()
      while (used[i]! < most) {
        const { allowed, retryAfterMs } = once()
        if (allowed) continue
        later(returns === 'as-told' ? retryAfterMs : returns)
        return
      }
    }
    once()
    later(0)
  }
  for (let window = 0; window < windows; window++) {
    // Discards returns from an earlier window.
    while (events.size > 0) events.pop()
    nowMs = window * windowMs
    for (const i of clients.keys()) start(i)
    while (events.least < (window + 1) * windowMs) {
      nowMs = events.least
      events.pop()()
    }
  }
  return result
}

function costFrom(random: Random, cost: number | readonly [number, number]): number {
  if (typeof cost === 'number') return cost
  const [least, most] = cost
  return least + Math.floor(random() * (most - least + 1))
}
