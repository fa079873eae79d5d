import type { Mechanism } from '../admission/mechanism.js'
import { requireOptions, withDefaults } from '../options.js'
import { QUEUE_OPTIONS, type QueueOptions, safely } from './options.js'
import { RequestQueue } from './request-queue.js'

/**
 * A queue for `createGate({ queue })`: requests wait until they may run, and flows take turns. Each gate that is given
 * it has a queue of its own. Throws a `TypeError` on an option that does not exist; what an option's value may be is
 * checked when the gate is made.
 */
export function requestQueue(options: QueueOptions): Mechanism<'queue'> {
  requireOptions('queue', options, QUEUE_OPTIONS)
  return {
    place: 'queue',
    stage: ({ clock, after, random, weightOf, failed }) => {
      const weighted = weightOf === undefined ? options : withDefaults(options, { weightOf })
      return new RequestQueue({
        ...safely(weighted, (error) => failed('queue', error)),
        clock,
        after,
        ...(random === undefined ? {} : { random }),
      })
    },
  }
}
