/** A client's behaviour. */
export type Manner = 'quiet' | 'heavy'

export interface Client {
  /** Sent as `x-client`; the flow. */
  readonly name: string
  readonly manner: Manner
  readonly asksPerSecond: number
}

const QUIET_CLIENTS = 18
const HEAVY_CLIENTS = 2
/** Demand of a client, in fair levels; a fair level is the capacity divided by the number of clients. */
const QUIET_ASKS = 2 / 3
const HEAVY_ASKS = 10
/** Total demand over the capacity. */
const LOAD = (QUIET_CLIENTS * QUIET_ASKS + HEAVY_CLIENTS * HEAVY_ASKS) / (QUIET_CLIENTS + HEAVY_CLIENTS)

/**
 * The noisy neighbourhood: eighteen clients that ask for two thirds of a fair share of `capacity` (in requests per
 * second) each, and two that ask for ten times that share; all scaled alike so that together they ask for `load` times
 * the capacity.
 */
export function population(capacity: number, load: number): Client[] {
  const fairLevel = (capacity / (QUIET_CLIENTS + HEAVY_CLIENTS)) * (load / LOAD)
  return [
    ...clients('quiet', QUIET_CLIENTS, QUIET_ASKS * fairLevel),
    ...clients('heavy', HEAVY_CLIENTS, HEAVY_ASKS * fairLevel),
  ]
}

function clients(manner: Manner, count: number, asksPerSecond: number): Client[] {
  return Array.from({ length: count }, (_, i) => ({ name: `${manner}-${i + 1}`, manner, asksPerSecond }))
}
