/**
 * One budget for many workers, in a Durable Object.
 *
 * @module @fairlead/cloudflare
 */

export { type DurableObjectContext, EscrowPool } from './escrow-pool.js'
export {
  type DurableObjectNamespaceLike,
  DurableObjectPoolStore,
  type DurableObjectPoolStoreOptions,
} from './pool-store.js'
