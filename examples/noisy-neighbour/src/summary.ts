import { jain, maxMin } from './fairness.js'
import type { Manner } from './population.js'
import type { Tally } from './tally.js'

/** The results of the clients of one manner. Rates are per client and second. */
export interface MannerSummary {
  readonly clients: number
  /** Over the time in which requests were sent; the other rates extend to the last answer. */
  readonly asked: number
  readonly entitled: number
  readonly served: number
  readonly servedOfAsked: number
  /** Mean and worst of the clients' own ratios. */
  readonly servedOfEntitled: number
  readonly worstOfEntitled: number
  /** Latency of the served requests; `null` if there were none. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

/** The results of a phase. */
export interface PhaseSummary {
  readonly seconds: number
  readonly asked: number
  readonly served: number
  readonly refusedUnfair: number
  readonly refusedShort: number
  readonly lost: number
  /** Jain's index of served over entitled. */
  readonly jain: number
  /** Served requests over the most possible: the smaller of capacity and demand. */
  readonly utilisation: number
  /** 99th percentile of the delay with which requests were sent. */
  readonly lateP99Ms: number
  readonly quiet: MannerSummary
  readonly heavy: MannerSummary
}

/**
 * Computes the figures of a phase on a resource with a capacity of `capacity` requests per second. Requests were sent
 * for `sentForSeconds`.
 */
export function summarise(tally: Tally, capacity: number, sentForSeconds: number): PhaseSummary {
  const { clients, byClient, seconds } = tally
  const entitled = maxMin(
    byClient.map(({ asked }) => asked),
    capacity * seconds,
  )
  // A client without demand lacks nothing.
  const ratios = byClient.map(({ served }, i) => (entitled[i]! > 0 ? served / entitled[i]! : 1))
  const total = (field: 'asked' | 'served' | 'refusedUnfair' | 'refusedShort' | 'lost'): number =>
    sum(byClient.map((tallied) => tallied[field]))

  const ofManner = (manner: Manner): MannerSummary => {
    const members = clients.flatMap((client, i) => (client.manner === manner ? [i] : []))
    const mean = (value: (i: number) => number): number => sum(members.map(value)) / members.length
    const asked = mean((i) => byClient[i]!.asked)
    const served = mean((i) => byClient[i]!.served)
    const latency = tally.latencyUs[manner]
    return {
      clients: members.length,
      asked: asked / sentForSeconds,
      entitled: mean((i) => entitled[i]!) / seconds,
      served: served / seconds,
      servedOfAsked: asked > 0 ? served / asked : 1,
      servedOfEntitled: mean((i) => ratios[i]!),
      worstOfEntitled: Math.min(...members.map((i) => ratios[i]!)),
      p50Ms: served > 0 ? latency.percentile(50) / 1_000 : null,
      p99Ms: served > 0 ? latency.percentile(99) / 1_000 : null,
    }
  }

  return {
    seconds,
    asked: total('asked'),
    served: total('served'),
    refusedUnfair: total('refusedUnfair'),
    refusedShort: total('refusedShort'),
    lost: total('lost'),
    jain: jain(ratios),
    utilisation: total('served') / Math.min(capacity * seconds, total('asked')),
    lateP99Ms: tally.lateUs.percentile(99) / 1_000,
    quiet: ofManner('quiet'),
    heavy: ofManner('heavy'),
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
