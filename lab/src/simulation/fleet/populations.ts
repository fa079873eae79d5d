import type { Measures } from '../../fair/measures.js'
import type { Scenario } from '../../fair/scenario.js'
import { PUBLISHED } from '../../fair/scenarios.js'

/** README's neighbours with a store of a second, and a larger service whose store is a tenth of one. */
const MORE: readonly Scenario[] = [
  {
    name: 'noisy, store of 1 s',
    seconds: 120,
    resource: { kind: 'bucket', rate: 100, burst: 100 },
    crowds: [
      { name: 'quiet', flows: 18, rate: 3.33 },
      { name: 'noisy', flows: 2, rate: 50 },
    ],
  },
  {
    name: 'big',
    seconds: 60,
    resource: { kind: 'bucket', rate: 1_000, burst: 100 },
    crowds: [
      { name: 'modest', flows: 950, rate: 0.8 },
      { name: 'heavy', flows: 50, rate: 30 },
    ],
  },
]

/** The populations for processes that share a clock, beside the held-out overloads. */
export const FEW: readonly Scenario[] = [...PUBLISHED.filter(({ name }) => name === 'api' || name === 'noisy'), ...MORE]

/** Over the runs that have the measure. */
export function meanOf(found: readonly Measures[], key: keyof Measures): number {
  const values = found.map((each) => each[key]).filter((value) => !Number.isNaN(value))
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
