/**
 * Manual clock, seeded chance, and the contracts of adapters and stores, for tests.
 *
 * @module @fairlead/core/testing
 */

export {
  type AdapterHarness,
  type Answer,
  type AppSetup,
  adapterContract,
  type ContractCase,
  listen,
  type RunningApp,
} from './contract/index.js'
export { type LimitStage, type LimitStageOptions, limitStage } from './limit-stage.js'
export { type ManualClock, manualClock } from './manual-clock.js'
export { type PoolStoreHarness, poolStoreContract } from './pool-store/index.js'
export { type ProbedPassage, type ProbeStage, probeStage } from './probe-stage.js'
export { seededRandom } from './seeded-random.js'
