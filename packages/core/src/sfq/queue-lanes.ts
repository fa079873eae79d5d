import type { Words } from '../hash.js'
import type { Buckets } from './buckets.js'
import type { Lane } from './lane.js'
import type { Lanes } from './lanes.js'
import type { Request } from './request.js'

/** The queue in which a flow waits, and how many of its requests do. */
interface Stay<T> {
  readonly lane: Lane<T>
  waiting: number
}

/**
 * A line for every one of SFQ's queues, in which the requests of different flows wait in order of arrival.
 *
 * With `stays`, a flow that waits stays in its queue, which takes a record per waiting flow. Without, nothing at all is
 * kept per flow: each request is dealt by itself, so the requests of a flow may wait in several queues of its hand.
 */
export class QueueLanes<T> implements Lanes<T> {
  readonly #buckets: Buckets<T>
  readonly #stays: Map<string, Stay<T>> | undefined

  constructor(buckets: Buckets<T>, stays: boolean) {
    this.#buckets = buckets
    this.#stays = stays ? new Map() : undefined
  }

  get records(): number {
    return this.#stays?.size ?? 0
  }

  find(flow: string): Lane<T> {
    return this.#stays?.get(flow)?.lane ?? this.#buckets.pick(flow)
  }

  open(flow: string): Lane<T> {
    return this.find(flow)
  }

  came({ flow }: Request<T>, lane: Lane<T>): void {
    if (this.#stays === undefined) return
    const stay = this.#stays.get(flow)
    if (stay === undefined) this.#stays.set(flow, { lane, waiting: 1 })
    else stay.waiting++
  }

  left({ flow }: Request<T>): void {
    const stay = this.#stays?.get(flow)
    if (stay !== undefined && --stay.waiting === 0) this.#stays!.delete(flow)
  }

  forget(): void {}

  /** Credit and debt of the queues lapse, because nobody knows any more whose they were. */
  rehome(queues: number, key: Words | undefined): void {
    const requests: Request<T>[] = []
    for (const { requests: line } of this.#buckets.lanes)
      for (let request = line.first; request !== undefined; request = request.next) requests.push(request)
    requests.sort((x, y) => x.sequence - y.sequence)
    this.#buckets.renew(queues, key)
    this.#stays?.clear()
    for (const request of requests) {
      request.next = undefined
      request.previous = undefined
      const lane = this.find(request.flow)
      lane.add(request)
      this.came(request, lane)
    }
    this.#buckets.dealt()
  }
}
