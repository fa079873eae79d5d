import { type Discipline, type Isolation, isolate, type Outcome } from '../simulation/sfq/index.js'
import type { Effort } from './figure.js'
import { mean } from './numbers.js'

/** A scenario without its seed. */
export type Shape = Omit<Isolation, 'seed'>

/** Waits of light flows, and the cost served by flow: means over the seeds. */
export interface Measured {
  /** Waits of light requests, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Part of the light requests that was refused, evicted or waited too long. */
  readonly lost: number
  /** Cost served by flow. */
  readonly served: ReadonlyMap<string, number>
}

const SECONDS = 30
export const SEEDS: readonly number[] = Array.from({ length: 10 }, (_, i) => 101 + i)

/** The seeds of an effort. */
export function seedsOf({ seeds, skip = 0 }: Effort, all: readonly number[] = SEEDS): readonly number[] {
  return all.slice(skip, skip + seeds)
}

/** Runs a scenario once for each seed. Arrivals and service times depend on the seed alone. */
export function measure(shape: Shape, make: (seed: number) => Discipline, effort: Effort): Measured {
  const seconds = (shape.seconds ?? SECONDS) * effort.part
  const outcomes = seedsOf(effort).map((seed) => isolate({ ...shape, seconds, seed }, make(seed)))
  return {
    p50: mean(outcomes.map(({ p50 }) => p50)),
    p99: mean(outcomes.map(({ p99 }) => p99)),
    lost: mean(outcomes.map(({ refused, expired }) => refused + expired)),
    served: servedBy(outcomes),
  }
}

/** Mean cost served per flow whose name begins with `kind`, of which there are `count`. */
export function servedEach({ served }: Measured, kind: 'heavy' | 'light', count: number): number {
  let sum = 0
  for (const [flow, cost] of served) if (flow.startsWith(kind)) sum += cost
  return sum / count
}

function servedBy(outcomes: readonly Outcome[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { served } of outcomes)
    for (const [flow, cost] of served) sums.set(flow, (sums.get(flow) ?? 0) + cost / outcomes.length)
  return sums
}
