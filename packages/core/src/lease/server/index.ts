export { compileGlob, type Matches } from './glob.js'
export {
  LeaseServer,
  type LeaseServerOptions,
  type LeaseServerSnapshot,
  type LeaseServerSummary,
} from './lease-server.js'
export type { LeaseServerLimits } from './limits.js'
export type { LeaseServerNotice } from './node.js'
export type {
  ChildSnapshot,
  NodeSnapshot,
  NodeSummary,
  ResourceSnapshot as ServerResourceSnapshot,
  ResourceSummary as ServerResourceSummary,
} from './snapshot.js'
export type { ResourceRepository, ResourceTemplate } from './template.js'
