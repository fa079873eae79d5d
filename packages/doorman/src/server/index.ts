/**
 * The server without sockets or timers of its own, based on `@fairlead/core` alone.
 *
 * @module @fairlead/doorman/server
 */

export { DoormanNode, type DoormanServerNotice } from './doorman-node.js'
export {
  DoormanServer,
  type DoormanServerOptions,
  type DoormanServerSnapshot,
  type DoormanServerSummary,
} from './doorman-server.js'
export { compileGlob, type Matches } from './glob.js'
export { type DoormanServerLimits, limitsFrom } from './limits.js'
export { MasterState } from './master-state.js'
export type { ResourceRepository, ResourceTemplate } from './repository.js'
export type {
  ChildSnapshot,
  NodeSnapshot,
  NodeSummary,
  ServerResourceSnapshot,
  ServerResourceSummary,
} from './snapshot.js'
