import { type FleetResult, type FleetScenario, type FleetTenant, simulateFleet } from '../../simulation/escrow/index.js'
import type { Effort } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'

export const FLEET_SEEDS: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
/** The first window is incomplete, and is not counted. */
const WINDOWS = 6
export const WINDOW_MS = 2_000

/** Asks for several times its share. */
export function greedy(name: string, weight: number): FleetTenant {
  return { name, weight, cost: 1, everyMs: 2 }
}

/** Every second process pauses after a fifth of each window. */
export function halfPause(processes: readonly (readonly FleetTenant[])[]): readonly (readonly FleetTenant[])[] {
  return processes.map((tenants, i) =>
    i % 2 === 0 ? tenants : tenants.map((tenant) => ({ ...tenant, active: [0, 0.2] as const })),
  )
}

export type Trial = Omit<FleetScenario, 'seed' | 'windows' | 'windowMs'>

/** Windows of a fleet, over all seeds. */
export interface Fleet {
  readonly title: string
  readonly limit: number
  readonly used: number
  readonly most: number
  /** Most calls to the store in a window. */
  readonly calls: number
  readonly crashes: number
  /** Mean of each tenant in a window. */
  readonly byTenant: Readonly<Record<string, number>>
  /** Admitted in each window of the first seed. */
  readonly windows: readonly number[]
}

export async function fleetOf(title: string, trial: Trial, effort: Effort): Promise<Fleet> {
  const runs: FleetResult[] = []
  for (const seed of seedsOf(effort, FLEET_SEEDS))
    runs.push(
      await simulateFleet({ ...trial, seed, windows: 1 + Math.ceil(WINDOWS * effort.part), windowMs: WINDOW_MS }),
    )
  const windows = runs.flatMap((run) => run.windows.slice(1))
  const names = trial.processes.flat().map(({ name }) => name)
  return {
    title,
    limit: trial.limit,
    used: mean(windows.map(({ admitted }) => admitted)) / trial.limit,
    most: Math.max(...windows.map(({ admitted }) => admitted)),
    calls: Math.max(...windows.map(({ calls }) => calls)),
    crashes: runs.reduce((sum, { crashes }) => sum + crashes, 0),
    byTenant: Object.fromEntries(
      names.map((name) => [name, mean(windows.map(({ byTenant }) => byTenant.get(name) ?? 0))]),
    ),
    windows: runs[0]!.windows.slice(1).map(({ admitted }) => admitted),
  }
}
