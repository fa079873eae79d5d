/**
 * Doorman: leases of capacity that a fleet shares, and the protocol by which a client gets them from a server.
 *
 * @module @fairlead/core/doorman
 */

export type { DoormanClientOptions, GaugeOptions, RateOptions } from './client.js'
export { DoormanClient, type DoormanClientSnapshot } from './client.js'
export type { LeaseMode, ResourceSnapshot } from './client-resource.js'
export { type DoormanFleet, doormanFleet } from './fleet.js'
export { GaugeLease, type GaugeSnapshot, type Slot } from './gauge-lease.js'
export { LeaseClosedError } from './lease.js'
export * from './protocol.js'
export { CAPACITY_ERROR_STATUS, CAPACITY_JSON, type MessageJson, type MethodJson } from './protocol-json.js'
export { RateBudget } from './rate-budget.js'
export { RateLease, type RateSnapshot } from './rate-lease.js'
export { LeaseStage, type LeaseStageOptions, lease } from './stage.js'
export { type HttpTransportOptions, inProcess, overHttp, type Transport } from './transport.js'
