import { requireInteger, requireOptions, withDefaults } from '@fairlead/core/internal'

/** What a {@link DoormanServer} takes; whole numbers above 0. Who is known already is served also when it is full. */
export interface DoormanServerLimits {
  /** Longest id of a client, server or resource, in UTF-16 units; a longer one is refused. @default 256 */
  idLength: number
  /** Most resources in one request; one with more is refused. @default 1000 */
  resourcesPerRequest: number
  /** Most resources that one client may have. @default 1000 */
  resourcesPerClient: number
  /** Most resources that the node keeps. @default 10000 */
  resources: number
  /** Most clients and servers, each counted at every resource that it has asked for. @default 500000 */
  clients: number
}

const DEFAULTS: DoormanServerLimits = {
  idLength: 256,
  resourcesPerRequest: 1_000,
  resourcesPerClient: 1_000,
  resources: 10_000,
  clients: 500_000,
}

/** Throws a `RangeError` or `TypeError` that names the limit and its value. */
export function limitsFrom(given: Partial<DoormanServerLimits>): DoormanServerLimits {
  requireOptions('limits', given, Object.keys(DEFAULTS))
  const limits = withDefaults(given, DEFAULTS)
  for (const [name, value] of Object.entries(limits)) requireInteger(`limits.${name}`, value, 1)
  return limits
}
