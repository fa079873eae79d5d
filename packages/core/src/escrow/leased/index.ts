export type { StoreFailure } from './account.js'
export type { LeasedDecision, LeasedReason, OnStoreError } from './decision.js'

export {
  type FederatedEscrowOptions,
  FederatedFairEscrow,
  RegionFairPool,
  type RegionFairPoolOptions,
} from './federated-fair-escrow.js'
export { LeasedFairEscrow } from './leased-fair-escrow.js'
export type { DrawingOptions, LeasedEscrowOptions } from './options.js'
export type { LeasedSnapshot } from './snapshot.js'
