import type { Random } from '@fairlead/core'
import type { Resource, Scenario } from './scenario.js'

/** Something that can be used up. Times never run backwards. */
export interface Supply {
  /** Takes `cost`; undefined if there is not enough, else for how many seconds it is busy with it. */
  take(at: number, cost: number): number | undefined
  /** From now on it is `times` what it was at first. */
  scale(at: number, times: number): void
}

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

  take(at: number, cost: number): number | undefined {
    this.#fill(at)
    if (this.#tokens < cost) return undefined
    this.#tokens -= cost
    return 0
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

/** Workers; those above a new number finish what they do. */
class Pool implements Supply {
  readonly #shape: Extract<Resource, { kind: 'pool' }>
  readonly #random: Random
  /** When each busy worker will be free, in no order: there are few. */
  readonly #freeAt: number[] = []
  #workers: number

  constructor(shape: Extract<Resource, { kind: 'pool' }>, random: Random) {
    this.#shape = shape
    this.#random = random
    this.#workers = shape.workers
  }

  take(at: number, cost: number): number | undefined {
    for (let i = this.#freeAt.length - 1; i >= 0; i--)
      if (this.#freeAt[i]! <= at) {
        this.#freeAt[i] = this.#freeAt.at(-1)!
        this.#freeAt.pop()
      }
    if (this.#freeAt.length >= this.#workers) return undefined
    const seconds = -Math.log(1 - this.#random()) * this.#shape.busy * cost
    this.#freeAt.push(at + seconds)
    return seconds
  }

  scale(_: number, times: number): void {
    this.#workers = Math.round(this.#shape.workers * times)
  }
}
