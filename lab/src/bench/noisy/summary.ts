import { weightedMaxMin } from '@fairlead/core/escrow'
import type { Answer } from './load.js'
import { CLIENTS, RESOURCE } from './scenario.js'

/** Results of the clients of one kind. */
interface Fare {
  /** As a share of the requests that they sent together. */
  readonly servedOfAsked: number
  /** Served over entitled, mean and worst of the clients; entitled: the max-min share of what each asked. */
  readonly servedOfEntitled: number
  readonly worstOfEntitled: number
  /** Latency of served requests, in milliseconds from the due time; `null` if none was served. */
  readonly p99Ms: number | null
}

/** The results of a run. */
export interface Summary {
  readonly quiet: Fare
  readonly heavy: Fare
  /** Served over the smaller of capacity and demand. */
  readonly utilisation: number
  readonly asked: number
  readonly refused429: number
  readonly refused503: number
  /** Requests without an answer, or with one that none of these servers gives. */
  readonly lost: number
  /** 99 of 100 requests were sent at most this late. */
  readonly lateP99Ms: number
}

/** The results of a run in which requests were sent for `seconds`. */
export function summarise(answers: readonly Answer[], seconds: number): Summary {
  const asked = CLIENTS.map(() => 0)
  const served = CLIENTS.map(() => 0)
  for (const { client, status } of answers) {
    asked[client]!++
    if (status === 200) served[client]!++
  }
  // The bucket is full at the start.
  const supply = RESOURCE.perSecond * seconds + RESOURCE.burst
  const weights = CLIENTS.map(() => 1)
  const entitled = weightedMaxMin(asked, weights, supply)
  const ratios = CLIENTS.map((_, i) => (entitled[i] === 0 ? 1 : served[i]! / entitled[i]!))
  const fareOf = (heavy: boolean): Fare => {
    const own = CLIENTS.flatMap((client, i) => (client.heavy === heavy ? [i] : []))
    const times = answers.filter(({ client, status }) => status === 200 && CLIENTS[client]!.heavy === heavy)
    return {
      servedOfAsked: sum(own.map((i) => served[i]!)) / Math.max(1, sum(own.map((i) => asked[i]!))),
      servedOfEntitled: sum(own.map((i) => ratios[i]!)) / own.length,
      worstOfEntitled: Math.min(...own.map((i) => ratios[i]!)),
      p99Ms: percentile99(times.map(({ ms }) => ms)),
    }
  }
  const withStatus = (status: number): number => answers.filter((answer) => answer.status === status).length
  const [all, refused429, refused503] = [sum(served), withStatus(429), withStatus(503)]
  return {
    quiet: fareOf(false),
    heavy: fareOf(true),
    utilisation: all / Math.min(supply, Math.max(1, answers.length)),
    asked: answers.length,
    refused429,
    refused503,
    lost: answers.length - all - refused429 - refused503,
    lateP99Ms: percentile99(answers.map(({ lateMs }) => lateMs)) ?? 0,
  }
}

function percentile99(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(0.99 * values.length)] ?? null
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
