import type { PoolTerms } from '../pool/terms.js'

/** A leased escrow's state, as plain JSON. */
export interface LeasedSnapshot extends PoolTerms {
  /** This process's id, or the region's name, in the pool. */
  readonly member: string
  /** The pool's window that this is about; -1 before the first lease. */
  readonly win: number
  /** False while there is no window: before the first lease, and after the end of the last. */
  readonly open: boolean
  /** Of this window: credit drawn, what of that was spent, and what the pool keeps for this member beyond it. */
  readonly granted: number
  readonly used: number
  readonly held: number
  /** Active tenants of this member, and the sum of their weights here. */
  readonly tenants: number
  readonly weight: number
  /** Since the escrow was made. */
  readonly allowed: number
  readonly refused: number
  /** Answers that were what is declared for a store that fails. */
  readonly storeErrors: number
  readonly storeCalls: number
}
