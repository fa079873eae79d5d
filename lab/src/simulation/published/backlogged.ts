import { FairQueue, type Ticket } from '@fairlead/core/queue'
import { seededRandom } from '@fairlead/core/testing'

/**
 * Tenants that always have work: some send requests that take about a second, the others requests of about a
 * millisecond.
 */
export interface Backlog {
  /** Number of expensive tenants. */
  readonly expensive: number
  readonly seconds: number
  readonly seed: number
  /** @default 16 */
  readonly slots?: number
  /** Number of all tenants. @default 100 */
  readonly tenants?: number
  /** Mean cost of an expensive request, in milliseconds. @default 1000 */
  readonly expensiveMs?: number
}

/** What a scheduler knows of it. `costOf` draws the cost of a tenant's next request. */
export interface Load {
  readonly slots: number
  readonly tenants: number
  costOf(tenant: number): number
}

/** Service of small tenants. */
export interface Smoothness {
  /** Standard deviation of a small tenant's lag behind its share, in seconds of that share. */
  readonly deviation: number
  /** The longest time from one start of a small tenant to the next, in milliseconds. */
  readonly gapMs: number
  /** Service of all small tenants, as a part of their share. */
  readonly share: number
}

/** Chooses the tenant of the next request for a free slot, and receives the cost of the one before. */
export interface Scheduler {
  next(slot: number, nowMs: number): { readonly tenant: number; readonly costMs: number }
  ended?(slot: number, costMs: number): void
}

const SMALL_MS = 1
/** Requests that each tenant has waiting. */
const DEPTH = 60
const STEP_MS = 100
const WATCHED = 5
/** Left out of the deviation: all start at once. */
const WARMUP_MS = 2_000

/** Our queue. Costs are known when requests come or, if not, every request is asked for with cost 1 and settled. */
export function ours({ tenants, costOf }: Load, known: boolean): Scheduler {
  const queue = new FairQueue<{ tenant: number; costMs: number }>({ perFlowLimit: 1_000, maxWaiting: 100_000 })
  const running: Ticket<unknown>[] = []
  const add = (tenant: number): void => {
    const costMs = costOf(tenant)
    queue.enqueue(`tenant-${tenant}`, { tenant, costMs }, known ? costMs : 1)
  }
  for (let i = 0; i < DEPTH * tenants; i++) add(i % tenants)
  return {
    next(slot) {
      const ticket = queue.dequeue()!
      running[slot] = ticket
      add(ticket.item.tenant)
      return ticket.item
    },
    ended(slot, costMs) {
      queue.settle(running[slot]! as Ticket<{ tenant: number; costMs: number }>, costMs)
    },
  }
}

/**
 * 2DFQ after the paper: slot i of n may start requests that would begin up to i/n of their cost later, in virtual time.
 */
export function twoDimensional({ slots, tenants, costOf }: Load): Scheduler {
  const begin = new Float64Array(tenants)
  const costs = Float64Array.from({ length: tenants }, (_, tenant) => costOf(tenant))
  return {
    next(slot, nowMs) {
      const virtual = (nowMs * slots) / tenants
      let [chosen, earliest, otherwise, earliestOfAll] = [-1, Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY]
      for (let tenant = 0; tenant < tenants; tenant++) {
        const end = begin[tenant]! + costs[tenant]!
        if (end < earliestOfAll) [otherwise, earliestOfAll] = [tenant, end]
        const eligible = begin[tenant]! - (slot / slots) * costs[tenant]! <= virtual + 1e-9
        if (eligible && end < earliest) [chosen, earliest] = [tenant, end]
      }
      const tenant = chosen < 0 ? otherwise : chosen
      const costMs = costs[tenant]!
      begin[tenant] = begin[tenant]! + costMs
      costs[tenant] = costOf(tenant)
      return { tenant, costMs }
    },
  }
}

/** Runs the experiment with a scheduler that can draw a tenant's costs, which vary by a tenth. */
export function runBacklog(
  { expensive, seconds, seed, slots = 16, tenants = 100, expensiveMs = 1_000 }: Backlog,
  make: (load: Load) => Scheduler,
): Smoothness {
  const random = seededRandom(seed)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const isSmall = (tenant: number): boolean => tenant < tenants - expensive
  const costOf = (tenant: number): number => {
    const costMs = isSmall(tenant) ? SMALL_MS : expensiveMs
    return Math.max(costMs / 10, costMs * (1 + 0.1 * normal()))
  }
  const scheduler = make({ slots, tenants, costOf })
  const horizonMs = 1_000 * seconds
  // The paper's workers do not start at the same moment either.
  const endsMs = Float64Array.from({ length: slots }, (_, slot) => slot / 1_000)
  const costsMs = new Float64Array(slots)
  const served = Array.from(
    { length: Math.min(WATCHED, tenants - expensive) },
    () => new Float64Array(Math.ceil(horizonMs / STEP_MS)),
  )
  let [gapMs, previousMs, small] = [0, 0, 0]
  for (;;) {
    let slot = 0
    for (let i = 1; i < slots; i++) if (endsMs[i]! < endsMs[slot]!) slot = i
    const nowMs = endsMs[slot]!
    if (nowMs > horizonMs) break
    if (costsMs[slot]! > 0) scheduler.ended?.(slot, costsMs[slot]!)
    const { tenant, costMs } = scheduler.next(slot, nowMs)
    costsMs[slot] = costMs
    endsMs[slot] = nowMs + costMs
    if (isSmall(tenant)) small += costMs
    if (tenant === 0) [gapMs, previousMs] = [Math.max(gapMs, nowMs - previousMs), nowMs]
    const steps = served[tenant]
    if (steps === undefined) continue
    for (let fromMs = nowMs; fromMs < Math.min(endsMs[slot]!, horizonMs); ) {
      const step = Math.floor(fromMs / STEP_MS)
      const toMs = Math.min(endsMs[slot]!, (step + 1) * STEP_MS)
      steps[step] = steps[step]! + toMs - fromMs
      fromMs = toMs
    }
  }
  const shareOf = (ms: number): number => (ms * slots) / tenants
  const lags = served.flatMap((steps) => {
    let sum = 0
    return Array.from(steps, (ms, step) => {
      sum += ms
      return (sum - shareOf((step + 1) * STEP_MS)) / shareOf(1_000)
    }).slice(WARMUP_MS / STEP_MS)
  })
  const average = lags.reduce((sum, lag) => sum + lag, 0) / lags.length
  const deviation = Math.sqrt(lags.reduce((sum, lag) => sum + (lag - average) ** 2, 0) / lags.length)
  return { deviation, gapMs, share: small / (tenants - expensive) / shareOf(horizonMs) }
}
