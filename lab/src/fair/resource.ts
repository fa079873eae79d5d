import type { Random } from '@fairlead/core'
import type { Resource, Scenario, Workers } from './scenario.js'

/** What became of a request: if it was served, and after how many seconds that is known. */
interface Taken {
  readonly served: boolean
  readonly after: number
}

/** Something that can be used up. Times never run backwards. */
export interface Supply {
  take(at: number, cost: number): Taken
  /** From now on it is `times` what it was at first. */
  scale(at: number, times: number): void
}

const SERVED: Taken = { served: true, after: 0 }
export const FAILED: Taken = { served: false, after: 0 }

export function supplyOf({ resource }: Scenario, random: Random): Supply {
  return resource.kind === 'bucket' ? new Bucket(resource) : new Pool(resource, random)
}

/** Tokens that come at a rate; what is taken is there at once. */
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

/** Workers, and a line before them. Those above a new number finish what they do. */
class Pool implements Supply {
  readonly #shape: Workers
  readonly #random: Random
  /** When each request that is waiting or worked at will be done, in order. */
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
