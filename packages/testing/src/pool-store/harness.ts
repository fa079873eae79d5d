import type { PoolStore } from '@fairlead/core/escrow'

/** What a store supplies to be tested by {@link poolStoreContract}. */
export interface PoolStoreHarness {
  /** Two ways to the same pools, as two processes have them; one store twice where there is only one process. */
  readonly stores: readonly [PoolStore, PoolStore]
  /** Makes the store forget all that it knows, as a crash would. Without it, that case is left out. */
  forget?(): Promise<void>
  /** How many random plays of four hundred calls each are compared, in short windows and in long. @default 2 */
  readonly plays?: number
}
