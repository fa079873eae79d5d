/**
 * One budget for many workers, and one shared clock for many isolates, in Durable Objects.
 *
 * @module @fairlead/cloudflare
 */

export { type DurableObjectContext, EscrowPool, type SqlRows } from './escrow-pool.js'
export {
  type DurableObjectFleetOptions,
  durableObjectFleet,
  FleetClock,
  type FleetClockLike,
  type FleetClockNamespaceLike,
} from './fleet-clock.js'
export {
  type DurableObjectLike,
  type DurableObjectNamespaceLike,
  DurableObjectPoolStore,
  type DurableObjectPoolStoreOptions,
} from './pool-store.js'
