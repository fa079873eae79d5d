export { FairQueue, type FairQueueSnapshot, type Refused, type SfqSnapshot, type Standing } from './fair-queue.js'
export type { FairQueueOptions } from './options.js'
export type { Ticket } from './request.js'
