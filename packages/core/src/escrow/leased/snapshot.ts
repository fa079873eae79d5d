import type { StoreFailureKind } from '../pool/store.js'
import type { PoolTerms } from '../pool/terms.js'

/** A leased escrow's state, as plain JSON. */
export interface LeasedSnapshot extends PoolTerms {
  /** The id in the pool of this run of the process, after the region's name where there is one. */
  readonly member: string
  /** The pool's window that this is about; -1 before the first lease. */
  readonly win: number
  /** False while there is no window: before the first lease, and after the end of the last. */
  readonly open: boolean
  /** Of this window: credit drawn, what of that was spent, and what the pool keeps for this member beyond it. */
  readonly granted: number
  readonly used: number
  readonly held: number
  /** The part of the limit that would be this member's if the store were away, from 0 to 1. */
  readonly share: number
  /** Active tenants of this member, and the sum of their weights here. */
  readonly tenants: number
  readonly weight: number
  /** Since the escrow was made. */
  readonly allowed: number
  readonly refused: number
  /** Answers that were what is declared for a store that fails. */
  readonly storeErrors: number
  readonly storeCalls: number
  /** In a tree: of each group that this process serves, about the group's own pool. */
  readonly groups?: readonly LeasedSnapshot[]
  /** Why the store failed last. */
  readonly lastStoreFailure: { readonly kind: StoreFailureKind; readonly message: string } | undefined
}
