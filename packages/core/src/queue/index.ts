/**
 * Requests that wait until they may run: the queue of a gate, its capacity, and fair turns alone.
 *
 * @module @fairlead/core/queue
 */

export * from '../capacity/index.js'
export {
  type FairLimit,
  type FairLimitOptions,
  fairLimit,
  type LimitOptions,
  LimitRefusedError,
} from '../fair-limit.js'
export { FairQueue } from '../sfq/fair-queue.js'
export type {
  FairQueueOptions,
  FairQueueSnapshot,
  Refused,
  SfqSnapshot,
  Standing,
  Ticket,
} from '../sfq/options.js'
export type {
  BandOptions,
  BandSnapshot,
  Passing,
  PoolOptions,
  QueueOptions,
  RequestQueueOptions,
  RequestQueueSnapshot,
  WaitingFlow,
} from './options.js'
export type { QueuePermit, QueueReason, QueueRequest } from './queued-request.js'
export { RequestQueue, requestQueue } from './request-queue.js'
