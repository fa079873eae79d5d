/**
 * Weighted fair escrow: budgets per window that tenants share by weight, for one process, a fleet, or regions.
 *
 * @module @fairlead/core/escrow
 */

export type { Reserve } from './budget.js'
export type { EscrowDecision, EscrowReason, EscrowSnapshot, EscrowTenant, Settled } from './decision.js'
export { type Answer, type Combined, combine } from './decision.js'
export { WeightedFairEscrow } from './escrow.js'
export {
  type FederatedEscrowOptions,
  FederatedFairEscrow,
  LeasedFairEscrow,
  RegionFairPool,
  type RegionFairPoolOptions,
} from './fleet/escrows.js'
export type {
  DrawingOptions,
  LeasedDecision,
  LeasedEscrowOptions,
  LeasedReason,
  LeasedSnapshot,
  OnStoreError,
} from './fleet/options.js'
export {
  type LeaseAnswer,
  type LeaseCall,
  MOST_REPORTED,
  type PoolMark,
  type PoolStore,
  PoolStoreError,
  type PoolTerms,
  type PoolTermsOptions,
  poolTerms,
  requireLease,
  type Stake,
  type StoreFailure,
  type StoreFailureKind,
  type TenantReport,
} from './fleet/store.js'
export { leaseOn, MemoryPoolStore, type MemoryPoolStoreOptions, type PoolRecord } from './fleet/stores.js'
export { type Hierarchy, type HierarchyNode, hierarchy } from './hierarchy.js'
export { type BudgetStageOptions, budgetStage, type Escrow, type EscrowAnswer, escrow } from './mechanism.js'
export type { BudgetOptions, EscrowOptions, EscrowSeams } from './options.js'
export {
  FairShare,
  type FairShareOptions,
  type FairShareSnapshot,
  WeightedFairShare,
  type WeightedFairShareOptions,
  weightedMaxMin,
} from './shares.js'
