import type { Gate } from '@fairlead/core'
import { isJson } from './stage-frames.js'

const ACTS = ['boost', 'hold', 'block', 'clear'] as const
/** Longest override: a day. For longer times, change the options of the gate. */
const LONGEST_MS = 86_400_000
const MOST_FACTOR = 1_000

/** The result of an action, in words, with the status of the answer. */
export interface Done {
  readonly status: 200 | 400 | 409
  readonly text: string
}

/** Applies a viewer's action to a flow, and reports the result: it reports success only if the override holds. */
export function act(
  gate: Gate,
  parameters: URLSearchParams,
  flowOf: (label: string | null) => string | undefined,
  by: string | undefined,
): Done {
  const overrides = gate.overrides!
  const kind = ACTS.find((each) => each === parameters.get('act'))
  const flow = flowOf(parameters.get('flow'))
  if (kind === undefined) return wrong(`act must be one of ${ACTS.join(', ')}`)
  if (flow === undefined) return wrong('flow must be one that the page shows, as JSON')
  if (kind === 'clear')
    return overrides.clear(flow, by) ? done('Done.') : { status: 409, text: 'There is nothing to undo any more.' }
  const forMs = Number(parameters.get('forMs'))
  if (!(forMs >= 1_000 && forMs <= LONGEST_MS)) return wrong(`forMs must be from 1000 to ${LONGEST_MS}`)
  if (kind === 'block') overrides.block(flow, forMs, by)
  else if (kind === 'boost') {
    const factor = Number(parameters.get('factor'))
    if (!(factor >= 1 / MOST_FACTOR && factor <= MOST_FACTOR))
      return wrong(`factor must be from .001 to ${MOST_FACTOR}`)
    overrides.boost(flow, factor, forMs, by)
  } else {
    const costPerSecond = Number(parameters.get('costPerSecond'))
    if (!(costPerSecond >= 1e-9 && costPerSecond <= 1e12)) return wrong('costPerSecond must be from 1e-9 to 1e12')
    overrides.hold(flow, costPerSecond, forMs, by)
  }
  const { overrides: held } = gate.explain(flow)
  if (!isJson(held) || held['kind'] !== kind) return { status: 409, text: 'It was set, and does not hold.' }
  if (kind === 'boost' && !overrides.weighs)
    return done('Set, but no stage of this gate has asked for a weight so far: until one does, nothing changes.')
  return done('Done.')
}

/** The viewer's label of a flow: a URL carries it as JSON. Undefined if it is invalid. */
export function labelIn(parameter: string | null): string | undefined {
  try {
    const label: unknown = JSON.parse(parameter ?? '')
    return typeof label === 'string' && label !== '' ? label : undefined
  } catch {
    return undefined
  }
}

function done(text: string): Done {
  return { status: 200, text }
}

function wrong(text: string): Done {
  return { status: 400, text }
}
