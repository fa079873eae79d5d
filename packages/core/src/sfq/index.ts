export { FairQueue } from './fair-queue.js'
export type { FairQueueOptions } from './options.js'
export type { Ticket } from './request.js'
export type { FairQueueSnapshot, Refused, SfqSnapshot, Standing } from './snapshot.js'
