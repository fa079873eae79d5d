import type { Mechanism } from '../admission/mechanism.js'
import { requireOptions, withDefaults } from '../options.js'
import { WeightedFairEscrow } from './escrow.js'
import { BUDGET_OPTIONS, type BudgetOptions } from './options.js'
import { budgetStage } from './stage.js'

/**
 * Weighted fair escrow for `createGate({ budget })`: refuses what a tenant may not spend of a budget that all share. Each
 * gate that is given it has a budget of its own; for one that several share, give each `budgetStage(escrow)`. Throws a
 * `TypeError` on an option that does not exist; what an option's value may be is checked when the gate is made.
 */
export function escrow(options: BudgetOptions): Mechanism<'budget'> {
  requireOptions('budget', options, BUDGET_OPTIONS)
  const { onError = 'admit', dryRun = false, ...own } = options
  return {
    place: 'budget',
    stage: ({ clock, weightOf }) => {
      const weighted = weightOf === undefined ? own : withDefaults(own, { weightOf })
      return budgetStage(new WeightedFairEscrow({ ...weighted, clock }), { onError, dryRun })
    },
  }
}
