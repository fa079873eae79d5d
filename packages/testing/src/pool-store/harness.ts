import type { PoolStore } from '@fairlead/core/escrow'

/** The parts that a store supplies to be tested by {@link poolStoreContract}. */
export interface PoolStoreHarness {
  /** Two connections to the same pools, as from two processes; one store twice if there is only one process. */
  readonly stores: readonly [PoolStore, PoolStore]
  /** Makes the store forget all its state, like a crash. Without it, that case is left out. */
  forget?(): Promise<void>
  /**
   * Number of random plays of four hundred calls each that are compared, in short windows and in long ones. @default 2
   */
  readonly plays?: number
}
