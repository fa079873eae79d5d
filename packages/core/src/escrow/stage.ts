import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import { requireOneOf } from '../options.js'
import type { EscrowDecision, Settled } from './decision.js'

/** What the gate needs of an escrow's answer. */
export interface EscrowAnswer extends Omit<EscrowDecision, 'reason'> {
  /** A short word for why not. */
  readonly reason: string | undefined
}

/** What the gate needs of an escrow: {@link WeightedFairEscrow}, one that shares its budget with others, or your own. */
export interface Escrow {
  /** Asks for `cost` units for `tenant`, and spends them if it is allowed. */
  check(tenant: string, cost: number): EscrowAnswer | Promise<EscrowAnswer>
  /** Says what something that was allowed really cost. */
  settle(decision: EscrowAnswer, actualCost: number): Settled | Promise<Settled>
  /** Gives all back: nothing ran. */
  refund(decision: EscrowAnswer): Settled | Promise<Settled>
  snapshot?(): unknown
}

/** The stage's name in gates, decisions and refusals. */
const STAGE = 'budget'

/** What was spent for a request, until it is known what that came to. */
class BudgetHold implements Hold {
  readonly #escrow: Escrow
  readonly #decision: EscrowAnswer

  constructor(escrow: Escrow, decision: EscrowAnswer) {
    this.#escrow = escrow
    this.#decision = decision
  }

  finish(outcome: Outcome, cost: number): void {
    const spent = this.#decision.cost
    if (outcome === 'failure' && cost === spent) this.#forget(this.#escrow.refund(this.#decision))
    else if (cost !== spent) this.#forget(this.#escrow.settle(this.#decision, Math.min(cost, Number.MAX_SAFE_INTEGER)))
  }

  undo(): void {
    this.#forget(this.#escrow.refund(this.#decision))
  }

  /** The request is over: there is nobody left to tell that its budget was settled somewhere, or not. */
  #forget(settled: Settled | Promise<Settled>): void {
    if (settled instanceof Promise) settled.catch(() => {})
  }
}

/**
 * An escrow as a stage of a gate: refuses what a tenant may not spend, and settles what requests really cost.
 *
 * The tenant is the request's flow. A refusal is the tenant's own affair, or a matter of policy: never a shortage, so
 * FAIR learns nothing from it. What was spent comes back if a later stage refuses, or the client leaves before its turn.
 *
 * In the end: `success` and `ignored` cost what the caller says, else what was asked for, because the work was done, or
 * begun, whoever is to blame. `failure` means that the request did not get what it came for: it costs nothing, unless
 * the caller says another cost than the one it was admitted with. Exempt requests pass, and spend nothing.
 */
export function budgetStage(escrow: Escrow, onError: 'admit' | 'refuse' = 'admit'): Stage {
  requireOneOf('onError', onError, ['admit', 'refuse'])
  const verdictOf = (decision: EscrowAnswer): Verdict =>
    decision.allowed ? new BudgetHold(escrow, decision) : refusalOf(decision)
  return {
    name: STAGE,
    onError,
    admit({ flow, cost, exempt }: Passage): Verdict | Promise<Verdict> {
      if (exempt) return undefined
      const decision = escrow.check(flow, Math.min(cost, Number.MAX_SAFE_INTEGER))
      return decision instanceof Promise ? decision.then(verdictOf) : verdictOf(decision)
    },
    snapshot: () => escrow.snapshot?.(),
  }
}

function refusalOf({ reason, retryAfterMs, limit, remaining, guarantee, resetAfterMs }: EscrowAnswer): Refusal {
  return refuse(STAGE, reason ?? 'over-share', false, retryAfterMs, { limit, remaining, guarantee, resetAfterMs })
}
