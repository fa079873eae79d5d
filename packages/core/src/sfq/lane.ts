import { Chain, type Link } from './chain.js'
import type { Request } from './request.js'
import type { Ring } from './ring.js'

/** Asks whether a request is still wanted; takes it off its lane if it is not. */
export type IsLive<T> = (request: Request<T>) => boolean

/** Whether a lane is in the ring of its parent: among those that just started to wait, or those that go round. */
export type Place = 'out' | 'fresh' | 'old'

/**
 * Something that takes turns: a line of requests, or a ring of lanes that take turns in its turns.
 *
 * Lanes form a tree. At the root is the whole queue; below it are the flows, or SFQ's queues with the flows that share
 * each of them, or SFQ's queues with their requests in order of arrival. What waits counts in every lane above it.
 */
export class Lane<T> implements Link<Lane<T>> {
  /** The flow's name; empty for a lane that is not one flow's. */
  readonly flow: string
  /** The lane whose ring this one is in; `undefined` at the root. */
  up: Lane<T> | undefined
  /** Its share of the turns. Of a lane with a ring: the sum over those in it that wait or owe. */
  weight: number
  /** Requests that wait in it. */
  count = 0
  /** Their cost. */
  cost = 0
  /** Credit that it holds; below zero it owes, and its turns pass until they have paid. */
  deficit = 0

  /** The requests of a line, oldest first. */
  readonly requests: Chain<Request<T>> = new Chain()
  /** Whether the newest is served first; holds until the line is empty. */
  newestFirst = false
  /** The turns of those below it; set where there are lanes below it. */
  ring: Ring<T> | undefined = undefined

  // Its place in the parent's ring, written by that ring.
  place: Place = 'out'
  /** Round of its turn: the present one, or the next. */
  round = 0
  /** Round in which it was last credited, and in which it was last served. */
  credited = -1
  served = -1
  next: Lane<T> | undefined = undefined
  previous: Lane<T> | undefined = undefined

  /** The weight with which it counts in the parent's, now. */
  counted = 0

  // Its place among the sizes, written by those.
  size = 0
  sizeIndex = 0

  constructor(flow: string, weight: number, up: Lane<T> | undefined) {
    this.flow = flow
    this.weight = weight
    this.up = up
  }

  /** Takes a request in at the end of the line. */
  add(request: Request<T>): void {
    request.lane = this
    this.requests.push(request)
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      lane.count++
      lane.cost += request.cost
      if (lane.place === 'out') up.ring!.start(lane)
      if (lane.count === 1) lane.recount()
    }
    lane.count++
    lane.cost += request.cost
  }

  /** Takes a request out, from anywhere in the line. */
  delete(request: Request<T>): void {
    request.lane = undefined
    this.requests.delete(request)
    if (this.requests.first === undefined) this.newestFirst = false
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      lane.#subtract(request.cost)
      if (lane.count > 0) continue
      up.ring!.emptied(lane)
      lane.recount()
    }
    lane.#subtract(request.cost)
  }

  /** The request whose turn it is in this lane; `undefined` if none waits. */
  head(isLive: IsLive<T> | undefined, mayStart?: (item: T) => boolean): Request<T> | undefined {
    if (this.ring !== undefined) return this.ring.head(isLive, mayStart)
    for (;;) {
      const next = this.#nextInTurn
      // Compared again, because the question may itself have changed the line.
      if (next === undefined || isLive === undefined || (isLive(next) && next === this.#nextInTurn)) return next
    }
  }

  /** The request of a line that would be served last. */
  get lastInTurn(): Request<T> | undefined {
    return this.newestFirst ? this.requests.first : this.requests.last
  }

  get #nextInTurn(): Request<T> | undefined {
    return this.newestFirst ? this.requests.last : this.requests.first
  }

  /** Charges what a request cost to the lane and those above it: each gets its turn less of credit. */
  charge(cost: number): void {
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) up.ring!.charge(lane, cost)
  }

  /** Corrects a charge by `change`, below zero to give back. Debt outlives an empty lane, credit does not. */
  correct(change: number): void {
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      const before = lane.deficit
      lane.deficit -= change
      if (lane.count === 0 && lane.deficit > 0) lane.deficit = 0
      // What is forfeited here must not be a present to those it shares a queue with.
      change = before - lane.deficit
      if (lane.deficit < 0 && lane.place === 'out') up.ring!.put(lane, 'old')
      lane.recount()
    }
  }

  /** Brings the weights above up to date: a lane counts while it waits or owes. */
  recount(): void {
    const { up } = this
    if (up === undefined) return
    const counts = this.count > 0 || this.deficit < 0 ? this.weight : 0
    if (counts === this.counted) return
    up.weight += counts - this.counted
    this.counted = counts
    up.recount()
  }

  #subtract(cost: number): void {
    this.count--
    // Differences of floats leave crumbs; nothing waiting is exactly nothing.
    this.cost = this.count === 0 ? 0 : this.cost - cost
  }
}
