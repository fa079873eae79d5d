export { FairQueue } from './fair-queue.js'
export type { FairQueueOptions } from './options.js'
export type { Refused, Standing, Ticket } from './request.js'
export type { FairQueueSnapshot, SfqSnapshot } from './snapshot.js'
