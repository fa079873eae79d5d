import type { FairQueueOptions } from '@fairlead/core/queue'
import { FairQueue } from '@fairlead/core/queue'
import { seededRandom } from '@fairlead/core/testing'
import { PlainRoundRobin } from '@fairlead-testing/oracles'
import type { Arrival, Discipline } from './isolation.js'

const LIMIT = 50

/** The queue that ships. The keys of hashed queues follow from the seed. */
export function fairQueue({ seed = 1, ...options }: FairQueueOptions & { readonly seed?: number }): Discipline {
  const queue = new FairQueue<Arrival>({ perFlowLimit: LIMIT, random: seededRandom(seed), ...options })
  return {
    enqueue(arrival) {
      const answer = queue.enqueue(arrival.flow, arrival, arrival.cost)
      return 'refused' in answer ? arrival : answer.evicted?.item
    },
    dequeue: (isDead) => queue.dequeue(isDead)?.item,
    perturb: () => queue.perturb(),
  }
}

/** Exact round robin as in papers, without the new list: the reference for the others. */
export function textbookRoundRobin(): Discipline {
  const queue = new PlainRoundRobin<Arrival>(false, true)
  return {
    enqueue(arrival) {
      if (queue.flow(arrival.flow)?.requests.length === LIMIT) return arrival
      queue.enqueue(arrival.flow, arrival, arrival.cost)
      return undefined
    },
    dequeue: (isDead) => queue.dequeue(isDead)?.item,
  }
}

/** One queue for all flows. */
export function arrivalOrder(limit: number): Discipline {
  const line: Arrival[] = []
  return {
    enqueue(arrival) {
      if (line.length >= limit) return arrival
      line.push(arrival)
      return undefined
    },
    dequeue(isDead) {
      while (line[0] && isDead(line[0])) line.shift()
      return line.shift()
    },
  }
}
