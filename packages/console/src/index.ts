/**
 * A live page of a gate: the demand, service and waits of each flow, and the reasons for refusals.
 *
 * @module @fairlead/console
 */

export { basicAuth } from './basic-auth.js'
export { type FairConsole, fairConsole } from './console.js'
export type {
  BudgetFrame,
  FairFrame,
  FlowFrame,
  Frame,
  LeaseFrame,
  OverrideFrame,
  ProcessFrame,
  Quantiles,
  QueueFrame,
  RefusalFrame,
  SignalFrame,
} from './frame.js'
export type { NodeRequest, NodeResponse, NodeSocket } from './node-bridge.js'
export type { Auth, ConsoleOptions, FleetLink, Viewer } from './options.js'
