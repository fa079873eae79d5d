import type { PoolStore } from '@fairlead/core'

/** What a store supplies to be tested by {@link poolStoreContract}. */
export interface PoolStoreHarness {
  /** Two ways to the same pools, as two processes have them; one store twice where there is only one process. */
  readonly stores: readonly [PoolStore, PoolStore]
  /** Makes the store forget all that it knows, as a crash would. Without it, that case is left out. */
  forget?(): Promise<void>
}
