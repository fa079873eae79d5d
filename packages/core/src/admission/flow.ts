import { hex64 } from '../hash.js'

/** Longest flow name, in UTF-16 units, that mechanisms, logs and remote stores ever see. */
export const MAX_FLOW_LENGTH = 256

const KEPT = MAX_FLOW_LENGTH - 17

/**
 * The name by which a flow is known inside: itself, unless it is so long that keeping and comparing it would be a
 * burden. Then its head and a 64-bit hash of the whole, so two long names stay two flows. O(length).
 */
export function flowName(flow: string): string {
  return flow.length <= MAX_FLOW_LENGTH ? flow : `${flow.slice(0, KEPT)}~${hex64(flow)}`
}
