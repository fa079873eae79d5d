/**
 * A server that shares limits among a fleet.
 *
 * @module @fairlead/doorman
 */

export type { AccessRule } from './access.js'
export type { EtcdSecrets } from './etcd/watched-key.js'
export { fleetOverGrpc, type GrpcTransport, type GrpcTransportOptions, overGrpc } from './grpc/transport.js'
export type { Log } from './observe/notices.js'
export type { DoormanOptions } from './options.js'
export { type Doorman, startDoorman } from './start-doorman.js'
export type { ClientTls, ServerTls } from './tls.js'
