import { requireNumber, show } from './options.js'

/** Least and largest weight: a wide enough range for any service, narrow enough for sums of floats to stay distinct. */
const LEAST_WEIGHT = 1e-9
const MOST_WEIGHT = 1e12

/** Checks for a weight. */
export function requireWeight(name: string, weight: unknown): void {
  requireNumber(name, weight, LEAST_WEIGHT, MOST_WEIGHT)
}

/** A flow's share relative to its siblings; `above` has the names above it in a path, none for the first level. */
export type WeightOf = (flow: string, above: readonly string[]) => number

/** The weight that is nearest to `weight`. */
export function nearestWeight(weight: number): number {
  return Math.min(MOST_WEIGHT, Math.max(LEAST_WEIGHT, weight))
}

const NO_NAMES: readonly string[] = /* @__PURE__ */ Object.freeze([])

/** The weight of a flow or tenant, checked; 1 without `weightOf`. Throws what `weightOf` throws. */
export function weightFrom(weightOf: WeightOf | undefined, name: string, above: readonly string[] = NO_NAMES): number {
  if (weightOf === undefined) return 1
  const weight = weightOf(name, above)
  // A check of its own: the name for the message takes longer to make than the rest.
  const isWeight = typeof weight === 'number' && weight >= LEAST_WEIGHT && weight <= MOST_WEIGHT
  if (!isWeight) requireWeight(`weightOf(${show(name)})`, weight)
  return weight
}

/** The same weights, but 1 if `weightOf` throws or returns an invalid value; `failed` then receives the error. */
export function safeWeight(
  weightOf: WeightOf,
  failed: (error: unknown) => void,
): (flow: string, above?: readonly string[]) => number {
  return (flow, above) => {
    try {
      return weightFrom(weightOf, flow, above)
    } catch (error) {
      failed(error)
      return 1
    }
  }
}
