/**
 * One budget for many workers, in a Durable Object.
 *
 * @module @fairlead/cloudflare
 */

export { type DurableObjectContext, EscrowPool, type SqlRows } from './escrow-pool.js'
export {
  type DurableObjectLike,
  type DurableObjectNamespaceLike,
  DurableObjectPoolStore,
  type DurableObjectPoolStoreOptions,
} from './pool-store.js'
