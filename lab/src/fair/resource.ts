import type { Random } from '@fairlead/core'
import type { Resource, Scenario, Workers } from './scenario.js'

/** Result of a request: whether it was served, and after how many seconds that is known. */
interface Taken {
  readonly served: boolean
  readonly after: number
}

/** A resource that can be exhausted. Times never run backwards. */
export interface Supply {
  take(at: number, cost: number): Taken
  /** From now on the capacity is `times` its initial value. */
  scale(at: number, times: number): void
}

const SERVED: Taken = { served: true, after: 0 }
export const FAILED: Taken = { served: false, after: 0 }

export function supplyOf({ resource }: Scenario, random: Random): Supply {
  return resource.kind === 'bucket' ? new Bucket(resource) : new Pool(resource, random)
}

/** Tokens that arrive at a rate; a request with enough tokens is served immediately. */
class Bucket implements Supply {
  readonly #rate: number
  readonly #burst: number
  #times = 1
  #tokens: number
  #at = 0

  constructor({ rate, burst }: Extract<Resource, { kind: 'bucket' }>) {
    this.#rate = rate
    this.#burst = burst
    this.#tokens = burst
  }

  take(at: number, cost: number): Taken {
    this.#fill(at)
    if (this.#tokens < cost) return FAILED
    this.#tokens -= cost
    return SERVED
  }

  scale(at: number, times: number): void {
    this.#fill(at)
    this.#times = times
  }

  #fill(at: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + this.#rate * this.#times * (at - this.#at))
    this.#at = at
  }
}

/** Workers with a queue. If their number falls, the excess workers finish their requests. */
class Pool implements Supply {
  readonly #shape: Workers
  readonly #random: Random
  /** End times of all waiting and running requests, in order. */
  readonly #doneAt: number[] = []
  #workers: number

  constructor(shape: Workers, random: Random) {
    this.#shape = shape
    this.#random = random
    this.#workers = shape.workers
  }

  take(at: number, cost: number): Taken {
    const { busy, line = 0, patience = Number.POSITIVE_INFINITY } = this.#shape
    const doneAt = this.#doneAt
    while (doneAt.length > 0 && doneAt[0]! <= at) doneAt.shift()
    if (doneAt.length >= this.#workers + line || this.#workers === 0) return FAILED
    const waiting = doneAt.length - this.#workers
    const startsAt = waiting < 0 ? at : doneAt[waiting]!
    if (startsAt - at > patience) return { served: false, after: patience }
    const done = startsAt - Math.log(1 - this.#random()) * busy * cost
    doneAt.splice(doneAt.findLastIndex((other) => other <= done) + 1, 0, done)
    return { served: true, after: done - at }
  }

  scale(_: number, times: number): void {
    this.#workers = Math.round(this.#shape.workers * times)
  }
}
