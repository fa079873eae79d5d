/**
 * Weighted fair escrow: budgets per window that tenants share by weight, of one process, a fleet, or regions.
 *
 * @module @fairlead/core/escrow
 */

export type { Reserve } from './budget.js'
export { type Answer, type Combined, combine } from './combine.js'
export type { EscrowDecision, EscrowReason, Settled } from './decision.js'
export { type HierarchicalEscrowOptions, HierarchicalFairEscrow, WeightedFairEscrow } from './escrow.js'
export {
  FairShare,
  type FairShareOptions,
  type FairShareSnapshot,
  WeightedFairShare,
  type WeightedFairShareOptions,
} from './fair-share.js'
export { type Hierarchy, type HierarchyNode, hierarchy } from './hierarchy.js'
export * from './leased/index.js'
export { escrow } from './mechanism.js'
export type { BudgetOptions, EscrowOptions, EscrowSeams } from './options.js'
export * from './pool/index.js'
export { weightedMaxMin } from './shares.js'
export type { EscrowSnapshot, EscrowTenant } from './snapshot.js'
export { type BudgetStageOptions, budgetStage, type Escrow, type EscrowAnswer } from './stage.js'
