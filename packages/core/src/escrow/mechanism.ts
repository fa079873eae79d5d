import type { Quota } from '../admission/decision.js'
import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Mechanism, Passage, Stage, Verdict } from '../admission/stage.js'
import {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireOneOf,
  requireOptions,
  requireText,
  withDefaults,
} from '../options.js'
import type { EscrowDecision, Settled } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'
import { BUDGET_OPTIONS, type BudgetOptions } from './options.js'

/** The part of an escrow's answer that the gate needs. */
export interface EscrowAnswer extends Omit<EscrowDecision, 'reason'> {
  /** A short reason of the refusal. `store-error`: the state is unknown, and so the numbers mean nothing. */
  readonly reason: string | undefined
}

/** The part of an escrow that the gate needs: {@link WeightedFairEscrow}, one that shares its budget, or your own. */
export interface Escrow {
  /** Length of its windows, in milliseconds, for clients. */
  readonly windowMs?: number
  /** Asks for `cost` units for `tenant`, and spends them if it is allowed. */
  check(tenant: string, cost: number): EscrowAnswer | Promise<EscrowAnswer>
  /** Reports the actual cost of an allowed decision. */
  settle(decision: EscrowAnswer, actualCost: number): Settled | Promise<Settled>
  /** Reports the cost so far of an allowed decision that still runs. @default charged when it is settled */
  charge?(decision: EscrowAnswer, costSoFar: number): unknown
  /** Refunds everything: nothing ran. */
  refund(decision: EscrowAnswer): Settled | Promise<Settled>
  /** The tenant's use no longer counts against it; the budget stays spent. */
  forget?(tenant: string): void
  /** Plain JSON for the gate's snapshot. */
  snapshot?(): unknown
}

/** Options of {@link budgetStage}. */
export interface BudgetStageOptions {
  /** The stage's name in gates, decisions and refusals, and the policy's in answers to clients. @default 'budget' */
  name?: string
  /** The answer to a request for which the escrow threw. @default 'admit' */
  onError?: 'admit' | 'refuse'
  /**
   * Judges without refusing: a request that would have been refused passes, spends nothing, and is counted in the
   * snapshot as `wouldRefuse`. Clients are told no quota. For testing a budget before it is enforced. @default false
   */
  dryRun?: boolean
  /** The tenant of a flow, for example its organisation. Nothing or `''` means the flow. @default the flow itself */
  tenantOf?: (flow: string) => string
  /** Length of the escrow's windows, in milliseconds, if it does not state it itself. */
  windowMs?: number
}

/** A stage's escrow, with its labels. */
interface MechanismBudget {
  readonly escrow: Escrow
  readonly name: string
  readonly windowMs: number | undefined
  readonly dryRun: boolean
}

/** The amount spent for a request, until its actual cost is known. */
class BudgetHold implements Hold {
  readonly #budget: MechanismBudget
  readonly #decision: EscrowAnswer

  constructor(budget: MechanismBudget, decision: EscrowAnswer) {
    this.#budget = budget
    this.#decision = decision
  }

  finish(outcome: Outcome, cost: number, _nowMs: number, isNamed = false): void {
    const { escrow } = this.#budget
    if (outcome === 'failure' && !isNamed) this.#forget(escrow.refund(this.#decision))
    else this.#forget(escrow.settle(this.#decision, Math.min(cost, Number.MAX_SAFE_INTEGER)))
  }

  charge(costSoFar: number): void {
    this.#budget.escrow.charge?.(this.#decision, Math.min(costSoFar, Number.MAX_SAFE_INTEGER))
  }

  undo(): void {
    this.#forget(this.#budget.escrow.refund(this.#decision))
  }

  quota(elapsedMs: number): Quota | undefined {
    return this.#budget.dryRun ? undefined : quotaOf(this.#budget, this.#decision, elapsedMs)
  }

  /** The request is over, so the result of the settlement has no reader. */
  #forget(settled: Settled | Promise<Settled>): void {
    if (settled instanceof Promise) settled.catch(() => {})
  }
}

/**
 * An escrow as a stage of a gate: refuses costs that a tenant may not spend, and settles the actual costs of requests.
 * A gate may have several, with different names: a request must be allowed by all of them, and spends from each.
 *
 * The tenant is the request's flow, or the result of `tenantOf`. A refusal is the tenant's own affair, or a matter of
 * policy: never a shortage, so FAIR learns nothing from it. The cost is refunded if a later stage refuses, or the
 * client leaves before its turn.
 *
 * At the end: `success` and `ignored` cost the caller's amount, otherwise the requested cost, because the work was
 * done, or begun, regardless of the cause. `failure` means that the request did not get its result: it costs nothing,
 * unless the caller names a cost: by `finish`, or by `charge` while it ran. Exempt requests pass, and spend nothing.
 *
 * Throws a `TypeError` or `RangeError` that names the fault of the escrow or an option.
 */
export function budgetStage(escrow: Escrow, options: BudgetStageOptions = {}): Stage {
  requireOptions('budgetStage', options, ['name', 'onError', 'dryRun', 'tenantOf', 'windowMs'])
  const { name = 'budget', onError = 'admit', dryRun = false, tenantOf, windowMs = escrow?.windowMs } = options
  requireText('name', name)
  requireOneOf('onError', onError, ['admit', 'refuse'])
  requireBoolean('dryRun', dryRun)
  if (tenantOf !== undefined) requireFunction('tenantOf', tenantOf)
  if (windowMs !== undefined) requireAbove('windowMs', windowMs, 0)
  for (const method of ['check', 'settle', 'refund'] as const) requireFunction(`${name}.${method}`, escrow?.[method])
  const budget: MechanismBudget = { escrow, name, windowMs, dryRun }
  let wouldRefuse = 0
  const verdictOf = (decision: EscrowAnswer): Verdict => {
    if (decision.allowed) return new BudgetHold(budget, decision)
    if (!dryRun) return refusalOf(budget, decision)
    wouldRefuse++
    return undefined
  }
  // An empty name comes from a flow that a client has invented, and must be no way around the budget.
  const tenantOfFlow = (flow: string): string => tenantOf?.(flow) || flow
  return {
    name,
    onError: dryRun ? 'admit' : onError,
    admit({ flow, cost, exempt }: Passage): Verdict | Promise<Verdict> {
      if (exempt) return undefined
      const decision = escrow.check(tenantOfFlow(flow), Math.min(cost, Number.MAX_SAFE_INTEGER))
      return decision instanceof Promise ? decision.then(verdictOf) : verdictOf(decision)
    },
    forget: (flow) => escrow.forget?.(tenantOfFlow(flow)),
    snapshot: () => (dryRun ? { ...(escrow.snapshot?.() ?? {}), wouldRefuse } : escrow.snapshot?.()),
  }
}

function refusalOf(budget: MechanismBudget, decision: EscrowAnswer): Refusal {
  const { reason, retryAfterMs, limit, remaining, guarantee, resetAfterMs } = decision
  const detail = { limit, remaining, guarantee, resetAfterMs }
  return refuse(budget.name, reason ?? 'over-share', false, retryAfterMs, detail, quotaOf(budget, decision, 0))
}

/** A decision's statement of its tenant's quota, `elapsedMs` later; undefined if its window is over, or unknown. */
function quotaOf({ name, windowMs }: MechanismBudget, decision: EscrowAnswer, elapsedMs: number): Quota | undefined {
  const { reason, limit, remaining, guarantee } = decision
  const resetAfterMs = decision.resetAfterMs - elapsedMs
  // A leased escrow does not consult its state if the cost is above the whole limit; and a stranger has nothing.
  const isUnknown = reason === 'store-error' || reason === 'unknown' || (reason === 'never' && guarantee === 0)
  if (isUnknown || resetAfterMs <= 0) return undefined
  return { policy: name, guarantee, windowMs, limit, remaining, resetAfterMs }
}

/**
 * Weighted fair escrow for `createGate({ budget })`: refuses costs that a tenant may not spend of a shared budget. Each
 * gate that uses it has its own budget; for one that several share, give each `budgetStage(escrow)`. Throws a
 * `TypeError` on an unknown option; the values of options are checked when the gate is created.
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
