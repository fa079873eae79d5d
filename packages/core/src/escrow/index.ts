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
export type { BudgetOptions, EscrowOptions, EscrowSeams } from './options.js'
export { weightedMaxMin } from './shares.js'
export type { EscrowSnapshot, EscrowTenant } from './snapshot.js'
export { type BudgetStageOptions, budgetStage, type Escrow, type EscrowAnswer } from './stage.js'
