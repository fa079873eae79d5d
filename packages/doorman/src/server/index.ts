/**
 * The server as a value: no socket, no timer but the one it is given, nothing but `@fairlead/core` underneath.
 *
 * @module @fairlead/doorman/server
 */

export { compileGlob, type Matches } from './glob.js'
export {
  LeaseServer,
  type LeaseServerOptions,
  type LeaseServerSnapshot,
  type LeaseServerSummary,
} from './lease-server.js'
export { type LeaseServerLimits, limitsFrom } from './limits.js'
export { Mastership } from './mastership.js'
export { LeaseNode, type LeaseServerNotice } from './node.js'
export type {
  ChildSnapshot,
  NodeSnapshot,
  NodeSummary,
  ResourceSnapshot as ServerResourceSnapshot,
  ResourceSummary as ServerResourceSummary,
} from './snapshot.js'
export type { ResourceRepository, ResourceTemplate } from './template.js'
