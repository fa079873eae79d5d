import type { Shape } from '../measure.js'
import type { VariantName } from '../variants.js'

/**
 * 10 servers of 10 ms (exponential), 200 light flows that together ask for 40 % of the capacity, and heavy flows that
 * ask for twice the capacity each. 50 requests may wait in a queue, for 5 s.
 */
export interface Scenario {
  readonly title: string
  readonly shape: Shape
  /** Published p99 of light requests in ms: of runs of 60 s, but `sparseFirst` of runs like ours. */
  readonly published: Partial<Record<VariantName, number>>
  /** Published p50 and p99 of textbook round robin, of runs like ours; p99 of others as a part of that. */
  readonly textbook: readonly [p50: number | undefined, p99: number | undefined]
  readonly ratios: Partial<Record<VariantName, number>>
}

export const SCENARIOS: readonly Scenario[] = [
  {
    title: '1 heavy',
    shape: { heavy: 1 },
    published: {
      arrivalOrder: 3310,
      evicting1: 11.5,
      evicting2: 12.9,
      evicting4: 17.1,
      textbook: 10.6,
      sparseFirst: 7.8,
    },
    textbook: [2.8, 10.8],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.73 },
  },
  {
    title: '5 heavy',
    shape: { heavy: 5 },
    published: {
      arrivalOrder: 3324,
      evicting1: 385,
      evicting2: 158,
      evicting4: 47.6,
      textbook: 19.7,
      sparseFirst: 9.8,
    },
    textbook: [9.5, 22.8],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.43 },
  },
  {
    title: '10 heavy',
    shape: { heavy: 10 },
    published: {
      arrivalOrder: 3321,
      evicting1: 729,
      evicting2: 1398,
      evicting4: 2052,
      textbook: 31.3,
      sparseFirst: 18.1,
    },
    textbook: [18, 37],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.49 },
  },
  {
    title: '20 heavy',
    shape: { heavy: 20 },
    published: {
      evicting1: 1293,
      evicting2: 2274,
      evicting4: 3250,
      textbook: 59.2,
      sparseFirst: 37.4,
    },
    textbook: [34.9, 70.5],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.53 },
  },
  {
    title: '40 heavy',
    shape: { heavy: 40 },
    published: {},
    textbook: [69.7, 154],
    ratios: { hashed: 1.22, auto: 1, perFlow: 1, sparseFirst: 0.54 },
  },
  {
    title: '40 heavy at 50/s each',
    shape: { heavy: 40, heavyRate: 50 },
    published: {},
    textbook: [68.8, 151],
    ratios: { hashed: 1.03, auto: 1.01, perFlow: 1, sparseFirst: 0.53 },
  },
  {
    title: '8 heavy of cost 5',
    shape: { heavy: 8, heavyCost: 5 },
    published: {},
    textbook: [28.8, 69],
    ratios: { hashed: 1.09, auto: 1.09, perFlow: 1, sparseFirst: 0.72 },
  },
  {
    title: '8 heavy, 1000 light',
    shape: { heavy: 8, light: 1000 },
    published: {},
    textbook: [14.5, 29.4],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.29 },
  },
  {
    title: '6 heavy, 2 servers',
    shape: { heavy: 6, servers: 2 },
    published: {},
    textbook: [57.3, 138],
    ratios: { hashed: 1, auto: 1, perFlow: 1, sparseFirst: 0.6 },
  },
  {
    title: '5 heavy, perturbed every 5 s',
    shape: { heavy: 5, perturbEveryMs: 5_000 },
    published: {},
    textbook: [undefined, undefined],
    ratios: {},
  },
  {
    title: '10 heavy, perturbed every 5 s',
    shape: { heavy: 10, perturbEveryMs: 5_000 },
    published: {},
    textbook: [undefined, 37.2],
    ratios: { hashed: 1 },
  },
]
