export { MemoryPoolStore, type MemoryPoolStoreOptions } from './memory-store.js'
export {
  type LeaseAnswer,
  type LeaseCall,
  type PoolStore,
  requireLease,
  type TenantDemand,
} from './store.js'
export { type PoolTerms, type PoolTermsOptions, poolTerms } from './terms.js'
