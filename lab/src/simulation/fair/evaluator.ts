import type { Clock, FairRuleName } from '@fairlead/core'
import { blue, FairTracker, type MakePlacement, tuneFair } from '@fairlead/core'
import { manualClock } from '@fairlead/core/testing'
import { PublishedPlacement } from '@fairlead-testing/oracles'

/** A population and the resource that it shares: the published evaluator's terms. */
export interface Scenario {
  capacity_per_s: number
  burst_tokens: number
  classes: readonly { name: string; clients: number; rate_per_s: number; start_s: number; end_s: number }[]
}

/** One request: its time and its client. */
export interface Arrival {
  ns: number
  client: number
}

/** Names of all clients, in the order of their indexes. */
function clientNames({ classes }: Scenario): string[] {
  return classes.flatMap(({ name, clients }) =>
    Array.from({ length: clients }, (_, i) => `${name}-${String(i).padStart(3, '0')}`),
  )
}

/** Poisson arrivals of every client, in order of time and then of client. */
export function arrivals({ classes }: Scenario, random: () => number): Arrival[] {
  const all: Arrival[] = []
  let client = 0
  for (const { clients, rate_per_s, start_s, end_s } of classes)
    for (let i = 0; i < clients; i++, client++) {
      const gap = (): number => Math.trunc((-Math.log(1 - random()) / rate_per_s) * 1e9)
      for (let ns = start_s * 1e9 + gap(); ns < end_s * 1e9; ns += gap()) all.push({ ns, client })
    }
  return all.sort((x, y) => x.ns - y.ns || x.client - y.client)
}

/** Results of the requests of one run. */
export interface Served {
  successesByClient: number[]
  failures: number
  throttled: number
}

/**
 * Random numbers for a tracker: `nextRequest` is called before each request, whether or not the tracker will draw for
 * it.
 */
export interface Draws {
  random: () => number
  nextRequest(): void
}

/** Draws from a plain generator. */
export function plainDraws(random: () => number): Draws {
  return { random, nextRequest: () => {} }
}

/**
 * Draws in the order of the published library: two seeds, then for every request one for each structure, of which only
 * the live one's is used.
 */
export function publishedDraws(random: () => number): Draws {
  let current: number | undefined
  return {
    random: () => current ?? random(),
    nextRequest() {
      current = random()
      random()
    },
  }
}

/** Creates the tracker of a run with a number of clients. */
export type MakeTracker = (clients: number, clock: Clock, random: () => number) => FairTracker<FairRuleName>

const published: MakePlacement = (buckets, random) => new PublishedPlacement(buckets, random)

/** The published structure, with its own hash. */
const publishedTracker: MakeTracker = (clients, clock, random) => {
  const { levels, bucketsPerLevel } = tuneFair({ flows: clients })
  const rotateEveryMs = Number.POSITIVE_INFINITY
  return new FairTracker({ ...blue({ levels, bucketsPerLevel, placement: published, rotateEveryMs }), clock, random })
}

/**
 * Sends the arrivals to one token bucket that starts full, each through a tracker first unless there are no draws.
 * The tracker's clock reads whole milliseconds, as the published one's does.
 */
export function serve(
  scenario: Scenario,
  requests: readonly Arrival[],
  draws?: Draws,
  makeTracker: MakeTracker = publishedTracker,
): Served {
  const names = clientNames(scenario)
  const clock = manualClock(0)
  const tracker = draws && makeTracker(names.length, clock, draws.random)
  const successesByClient = names.map(() => 0)
  let tokens = scenario.burst_tokens
  let refilledNs = 0
  let failures = 0
  let throttled = 0
  for (const { ns, client } of requests) {
    const name = names[client]!
    clock.advance(Math.floor(ns / 1e6) - clock())
    draws?.nextRequest()
    if (tracker?.register(name) === false) {
      throttled++
      continue
    }
    tokens = Math.min(scenario.burst_tokens, tokens + scenario.capacity_per_s * ((ns - refilledNs) / 1e9))
    refilledNs = ns
    const taken = tokens >= 1
    if (taken) {
      tokens -= 1
      successesByClient[client]!++
    } else failures++
    tracker?.report(name, taken ? 'success' : 'failure')
  }
  return { successesByClient, failures, throttled }
}

/** Jain's fairness index: 1 if all are equal, 1/n if one has everything. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((total, x) => total + x, 0)
  const squares = values.reduce((total, x) => total + x * x, 0)
  return squares === 0 ? 0 : (sum * sum) / (values.length * squares)
}
