/**
 * The server that shares limits among a fleet.
 *
 * @module @fairlead/doorman
 */

export { type GrpcTransport, type GrpcTransportOptions, overGrpc } from './grpc/transport.js'
export type { Log } from './observe/log.js'
export type { DoormanOptions } from './options.js'
export { type Doorman, startDoorman } from './start-doorman.js'
