/**
 * The contracts of adapters and stores, and the clocks, random numbers and stages of `@fairlead/core/testing`.
 *
 * @module @fairlead/testing
 */

export * from '@fairlead/core/testing'
export {
  type AdapterHarness,
  type AppSetup,
  adapterContract,
  type ContractCase,
  type HandlerAnswer,
  listen,
  type RunningApp,
} from './contract/index.js'
export {
  type FleetHarness,
  type FleetLoad,
  FleetMember,
  FleetProcesses,
  fleetContract,
  fleetLoad,
  runFleetMember,
} from './fleet/index.js'
export { type PoolStoreHarness, poolStoreContract } from './pool-store/index.js'
