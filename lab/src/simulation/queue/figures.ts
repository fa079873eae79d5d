import { quantile, type Scenario, type Story, simulate, type Traffic } from './simulate.js'

const WORK_MS = 100

/** Flows named `name-0`… with the same traffic each. */
export function flows(name: string, count: number, traffic: Omit<Traffic, 'flow' | 'workMs'>): Traffic[] {
  return Array.from({ length: count }, (_, i) => ({ flow: `${name}-${i}`, workMs: WORK_MS, ...traffic }))
}

export interface Returning {
  /** Stories with a first refusal, and the share of them whose second try was admitted. */
  refused: number
  secondAdmitted: number
  /** Mean number of tries of those that started. */
  tries: number
  /** Share that started in the end. */
  started: number
  /** From the first refusal to the start, as a multiple of the stated delay: median and 90th percentile. */
  ratio50: number
  ratio90: number
  /** The stated delay, and the actual time: medians in milliseconds. */
  told50: number
  took50: number
}

/** Results of clients of the flows called `name` that return when told to. */
export function returning(stories: readonly Story[], name: string): Returning {
  const own = stories.filter(({ flow }) => flow.startsWith(name))
  const refused = own.filter(({ refusedMs, reason }) => refusedMs !== undefined && reason !== 'gone')
  const second = refused.filter(({ secondAdmitted }) => secondAdmitted !== undefined)
  const started = refused.filter(({ startedMs }) => startedMs !== undefined)
  const took = started.map(({ startedMs, refusedMs }) => startedMs! - refusedMs!)
  const ratios = started.map(({ toldMs }, i) => took[i]! / toldMs)
  return {
    refused: refused.length,
    secondAdmitted: second.filter(({ secondAdmitted }) => secondAdmitted).length / second.length,
    tries: started.reduce((sum, { tries }) => sum + tries, 0) / started.length,
    started: own.filter(({ startedMs }) => startedMs !== undefined).length / own.length,
    ratio50: quantile(ratios, 0.5),
    ratio90: quantile(ratios, 0.9),
    told50: quantile(
      refused.map(({ toldMs }) => toldMs),
      0.5,
    ),
    took50: quantile(took, 0.5),
  }
}

export interface Served {
  /** Requests. */
  asked: number
  /** Share that started, and share that started within `soonMs`. */
  started: number
  soon: number
  /** Waiting times of those that started, in milliseconds. */
  wait50: number
  wait99: number
}

/** Service of the flows called `name`. */
export function served(stories: readonly Story[], name: string, soonMs: number): Served {
  const own = stories.filter(({ flow }) => flow.startsWith(name))
  const waits = own.filter(({ startedMs }) => startedMs !== undefined).map(({ waitedMs }) => waitedMs)
  return {
    asked: own.length,
    started: waits.length / own.length,
    soon: waits.filter((ms) => ms <= soonMs).length / own.length,
    wait50: quantile(waits, 0.5),
    wait99: quantile(waits, 0.99),
  }
}

/** Runs a scenario once for each seed, and concatenates the stories. */
export async function runs(scenario: Omit<Scenario, 'seed'>, seeds: readonly number[]): Promise<Story[]> {
  const all: Story[] = []
  for (const seed of seeds) all.push(...(await simulate({ ...scenario, seed })))
  return all
}
