/**
 * Requests that wait until they may run: the queue of a gate, how much may run at once, and fair turns by themselves.
 *
 * @module @fairlead/core/queue
 */

export * from '../capacity/index.js'
export * from '../sfq/index.js'
export type { BandOptions, QueueOptions, WaitingRoomOptions } from './options.js'
export type { QueuePermit, QueueRequest } from './permit.js'
export type { QueueReason } from './reasons.js'
export { WaitingRoom } from './room.js'
export type { BandSnapshot, WaitingRoomSnapshot } from './snapshot.js'
export { requestQueue } from './stage.js'
