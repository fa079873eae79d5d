import type { Mechanism } from '../admission/mechanism.js'
import { requireOptions, withDefaults } from '../options.js'
import { QUEUE_OPTIONS, type QueueOptions, safely } from './options.js'
import { RequestQueue } from './request-queue.js'

/**
 * A queue for `createGate({ queue })`: requests wait until they may run, and flows take turns. Each gate that uses it
 * has its own queue. Throws a `TypeError` on an unknown option; the values of options are checked when the gate is
 * created.
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
