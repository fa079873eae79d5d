import type { Overrides } from '@fairlead/core'

const ACTS = ['boost', 'hold', 'block', 'clear'] as const
/** A day. For longer, change the options of the gate. */
const LONGEST_MS = 86_400_000
const MOST_FACTOR = 1_000

/** What a viewer wants done to a flow, or what is wrong with the request. */
export function act(
  overrides: Overrides,
  parameters: URLSearchParams,
  flowOf: (label: string) => string | undefined,
  by: string | undefined,
): string | undefined {
  const kind = ACTS.find((each) => each === parameters.get('act'))
  const flow = flowOf(parameters.get('flow') ?? '')
  if (kind === undefined) return `act must be one of ${ACTS.join(', ')}`
  if (flow === undefined) return 'flow must be one that the page shows'
  if (kind === 'clear') {
    overrides.clear(flow, by)
    return undefined
  }
  const forMs = Number(parameters.get('forMs'))
  if (!(forMs >= 1_000 && forMs <= LONGEST_MS)) return `forMs must be from 1000 to ${LONGEST_MS}`
  if (kind === 'block') overrides.block(flow, forMs, by)
  else if (kind === 'boost') {
    const factor = Number(parameters.get('factor'))
    if (!(factor >= 1 / MOST_FACTOR && factor <= MOST_FACTOR)) return `factor must be from .001 to ${MOST_FACTOR}`
    overrides.boost(flow, factor, forMs, by)
  } else {
    const costPerSecond = Number(parameters.get('costPerSecond'))
    if (!(costPerSecond > 0 && costPerSecond < Number.POSITIVE_INFINITY)) return 'costPerSecond must be above 0'
    overrides.hold(flow, costPerSecond, forMs, by)
  }
  return undefined
}
