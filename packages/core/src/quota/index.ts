/**
 * Quotas per key: a limit per window for each, in the memory of a process or in a store that a fleet shares.
 *
 * @module @fairlead/core/quota
 */

export { type QuotaMechanism, type QuotaOptions, quota } from './stage.js'
export { MemoryQuotaStore, type MemoryQuotaStoreOptions, type QuotaLevel, type QuotaStore } from './store.js'
