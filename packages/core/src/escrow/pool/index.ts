export { MemoryPoolStore, type MemoryPoolStoreOptions } from './memory-store.js'
export { leaseOn, type PoolRecord } from './record.js'
export {
  type LeaseAnswer,
  type LeaseCall,
  MOST_REPORTED,
  type PoolMark,
  type PoolStore,
  PoolStoreError,
  requireLease,
  type Stake,
  type StoreFailureKind,
  type TenantReport,
} from './store.js'
export { type PoolTerms, type PoolTermsOptions, poolTerms } from './terms.js'
