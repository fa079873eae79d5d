import { seededRandom } from '@fairlead/core/testing'

/** Light and heavy flows in front of a few servers. Times are simulated milliseconds. */
export interface Isolation {
  readonly seed: number
  readonly heavy: number
  /** Requests per second of each heavy flow. @default twice the capacity */
  readonly heavyRate?: number
  /** Cost of every request of the heavy flows, or of each of them. @default 1 */
  readonly heavyCost?: number
  readonly heavyCostOf?: (index: number) => number
  readonly light?: number
  /** Part of the capacity that the light flows together ask for. */
  readonly lightLoad?: number
  readonly servers?: number
  readonly seconds?: number
  /** Longest a request may wait. */
  readonly waitLimitMs?: number
  readonly perturbEveryMs?: number
}

/** Mean service time of one unit of cost; exponential. */
const SERVICE_MS = 10

/** A request and its arrival. */
export interface Arrival {
  readonly flow: string
  readonly light: boolean
  readonly cost: number
  readonly atMs: number
  readonly serviceMs: number
}

/** The simulated object: anything in which requests wait. */
export interface Discipline {
  /** Enqueues a request and returns the one that was turned away for it, which may be itself. */
  enqueue(arrival: Arrival): Arrival | undefined
  dequeue(isDead: (arrival: Arrival) => boolean): Arrival | undefined
  perturb?(): void
}

/** Waits of light flows, and the cost served by flow. Counted after the first tenth of the time. */
export interface Outcome {
  readonly p50: number
  readonly p99: number
  /** Shares of light requests that were refused on arrival or evicted, and that waited too long. */
  readonly refused: number
  readonly expired: number
  /** Served cost by flow. */
  readonly served: ReadonlyMap<string, number>
}

/** Runs one simulation. Arrivals and service times depend on the seed alone, not on the discipline. */
export function isolate(scenario: Isolation, discipline: Discipline): Outcome {
  const { servers = 10, seconds = 30, waitLimitMs = 5_000, perturbEveryMs = Number.POSITIVE_INFINITY } = scenario
  const endMs = seconds * 1000
  const startMs = endMs / 10
  const busyUntil: number[] = []
  const waits: number[] = []
  const served = new Map<string, number>()
  let arrived = 0
  let refused = 0
  let expired = 0
  let perturbAtMs = perturbEveryMs
  let nowMs = 0

  const isDead = (arrival: Arrival): boolean => {
    const dead = nowMs - arrival.atMs > waitLimitMs
    if (dead && arrival.light && arrival.atMs >= startMs) expired++
    return dead
  }
  const fill = (): void => {
    while (busyUntil.length < servers) {
      const next = discipline.dequeue(isDead)
      if (next === undefined) return
      busyUntil.push(nowMs + next.serviceMs)
      if (nowMs >= startMs) served.set(next.flow, (served.get(next.flow) ?? 0) + next.cost)
      if (next.light && next.atMs >= startMs) waits.push(nowMs - next.atMs)
    }
  }
  const next = arrivals(scenario)
  for (let arrival = next(); arrival.atMs < endMs; arrival = next()) {
    for (let at = earliest(busyUntil); at >= 0 && busyUntil[at]! <= arrival.atMs; at = earliest(busyUntil)) {
      nowMs = busyUntil[at]!
      busyUntil.splice(at, 1)
      fill()
    }
    nowMs = arrival.atMs
    if (nowMs >= perturbAtMs) {
      perturbAtMs += perturbEveryMs
      discipline.perturb?.()
    }
    if (arrival.light && nowMs >= startMs) arrived++
    const turnedAway = discipline.enqueue(arrival)
    if (turnedAway?.light && turnedAway.atMs >= startMs) refused++
    fill()
  }
  waits.sort((x, y) => x - y)
  const quantile = (q: number): number => waits[Math.floor(q * waits.length)] ?? 0
  return { p50: quantile(0.5), p99: quantile(0.99), refused: refused / arrived, expired: expired / arrived, served }
}

/** All Poisson streams as one: their sum is Poisson too, and each event belongs to a stream with its rate's chance. */
function arrivals(scenario: Isolation): () => Arrival {
  const { seed, heavy, heavyCost = 1, light = 200, lightLoad = 0.4, servers = 10 } = scenario
  const { heavyCostOf = () => heavyCost } = scenario
  const capacity = servers / SERVICE_MS
  const { heavyRate = (2 * capacity * 1000) / heavyCost } = scenario
  const random = seededRandom(seed)
  const exponential = (): number => -Math.log(1 - random())
  const lightPerMs = capacity * lightLoad
  const heavyPerMs = (heavy * heavyRate) / 1000
  const lightNames = Array.from({ length: light }, (_, i) => `light-${i}`)
  const heavyNames = Array.from({ length: heavy }, (_, i) => `heavy-${i}`)
  let atMs = 0
  return () => {
    atMs += exponential() / (lightPerMs + heavyPerMs)
    const isLight = random() * (lightPerMs + heavyPerMs) < lightPerMs
    const names = isLight ? lightNames : heavyNames
    const index = Math.floor(random() * names.length)
    const flow = names[index]!
    const cost = isLight ? 1 : heavyCostOf(index)
    return { flow, light: isLight, cost, atMs, serviceMs: exponential() * SERVICE_MS * cost }
  }
}

function earliest(times: readonly number[]): number {
  let least = -1
  for (let i = 0; i < times.length; i++) if (least < 0 || times[i]! < times[least]!) least = i
  return least
}
