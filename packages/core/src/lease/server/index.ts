export { LeaseServer, type LeaseServerOptions, type LeaseServerSnapshot } from './lease-server.js'
export type { ChildSnapshot, NodeSnapshot, ResourceSnapshot as ServerResourceSnapshot } from './snapshot.js'
export type { ResourceRepository, ResourceTemplate } from './template.js'
