import { append, type Ends, type Linked, unlink } from '../containers.js'
import { type Flow, firstOf, keyOf } from '../path.js'
import type { LearnedCosts } from './costs.js'
import type { LongestQueue } from './longest-queue.js'
import type { Ticket } from './options.js'
import type { Ring } from './ring.js'

/** More levels than any path has. */
export const ALL_LEVELS = 1_000

/** The queue's own form of a ticket. */
export class Request<T> implements Ticket<T>, Linked<Request<T>> {
  readonly path: Flow
  readonly item: T
  /** The cost it was enqueued with, and counts with while it waits. */
  readonly declared: number
  /** The kind of request under which its cost is learnt. */
  readonly kind: string
  cost: number
  /**
   * Part of its cost for which its flow is never charged: its cost before others waited, if it did not need to wait.
   */
  free = 0
  evicted: Ticket<T> | undefined = undefined
  /** Position in the order of arrival. */
  readonly sequence: number
  /** The lane in which it waits; `undefined` once it has left. */
  lane: Lane<T> | undefined = undefined
  /** Number of times that all debts had been forgiven when it was dequeued and charged; below 0 until then. */
  era = -1
  /** Number of lanes, from its own up, beside which others waited when it was dequeued. */
  contested: number = ALL_LEVELS
  /** Whether its actual cost is known. */
  settled = false
  /** How it is counted while it runs, by `Running`. */
  counted: 'costly' | 'ordinary' | undefined = undefined
  next: Request<T> | undefined = undefined
  previous: Request<T> | undefined = undefined

  constructor(path: Flow, item: T, cost: number, kind: string, sequence: number) {
    this.path = path
    this.item = item
    this.declared = cost
    this.kind = kind
    this.cost = cost
    this.sequence = sequence
  }

  get flow(): string {
    return firstOf(this.path)
  }
  /** A unique string for its flow. */
  get key(): string {
    return keyOf(this.path)
  }
  /** Its expected cost, as far as it is known. */
  expected(costs: LearnedCosts): number {
    return costs.size === 0 ? this.declared : costs.expected(this.key, this.kind, this.declared)
  }
}

/** Whether a request is still wanted; removes it from its lane if it is not. */
export type IsLive<T> = (request: Request<T>) => boolean

/** State of a lane: out of its parent's ring, on the list of new lanes, or in rotation. */
export type LaneList = 'out' | 'new' | 'old'

/**
 * A member of a ring that takes turns: a line of requests, oldest first; or a lane whose own ring distributes its
 * turns.
 *
 * Lanes form a tree. Below its root are the flows, or the first names of their paths, and below those the next; or
 * SFQ's queues, and in each of them the flows that share it. A waiting request counts in every lane above it.
 */
export class Lane<T> implements Ends<Request<T>>, Linked<Lane<T>> {
  // In memory in this order. Most lanes are cold when they are touched, so fields that are used together are
  // neighbours.
  first: Request<T> | undefined = undefined
  last: Request<T> | undefined = undefined
  next: Lane<T> | undefined = undefined
  previous: Lane<T> | undefined = undefined
  // Until `count` written by the parent's ring alone.
  place: LaneList = 'out'
  /** Whether it is in the ring without waiting requests: until its turn has passed, or its debt is paid. */
  passing = false
  /** Whether its head cost more than its turn was worth at the last inspection. */
  costly = false
  /** Its parts of the pool in its parent's ring now, and of the weight of costly lanes. */
  pooled = 0
  weighed = 0
  /** The round of its turn: the present round or the next. */
  round = 0
  /** The rounds in which it was last credited and last served. */
  credited = -1
  served = -1
  /** Number of its waiting requests, and their cost. */
  count = 0
  cost = 0
  /** The credit that it holds. Below zero it owes, and its turns pass until they have paid the debt. */
  deficit = 0
  /** Its share of the turns. */
  weight: number
  /** Its present weight in its parent's sum. */
  counted = 0
  /** The lane in whose ring this one takes turns; `undefined` at the root. */
  up: Lane<T> | undefined
  /** The turns of the lanes below; `undefined` in a line. */
  ring: Ring<T> | undefined = undefined
  /** The key of its flow, or of a path's prefix; empty for a lane that belongs to no flow. */
  readonly key: string
  /** Whether the newest request is served first; holds until the line is empty. */
  newestFirst = false
  // Written by `LongestQueue` alone.
  sizeClass = 0
  sizeIndex = 0
  /** Its longest member, if known. */
  longest: LongestQueue<T> | undefined = undefined
  /** With a ring: the sum of the weights of its members that wait or owe. */
  members = 0
  /** True for one of SFQ's queues: it weighs as much as its members together. */
  weighsAsMany = false

  constructor(key: string, weight: number, up: Lane<T> | undefined) {
    this.key = key
    this.weight = weight
    this.up = up
  }

  /** Adds a request at the end of the line. */
  add(request: Request<T>): void {
    request.lane = this
    append(this, request)
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      lane.count++
      lane.cost += request.declared
      if (lane.place === 'out') up.ring!.start(lane)
      else if (lane.passing) up.ring!.passed(lane)
      if (lane.count === 1) lane.recount()
    }
    lane.count++
    lane.cost += request.declared
  }

  /** Deletes a request from anywhere in the line. */
  delete(request: Request<T>): void {
    request.lane = undefined
    unlink(this, request)
    if (this.first === undefined) this.newestFirst = false
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      subtract(lane, request.declared)
      if (lane.count > 0) continue
      up.ring!.emptied(lane)
      lane.recount()
    }
    subtract(lane, request.declared)
  }

  /** The request whose turn it is in this lane; `undefined` if none waits. */
  head(isLive?: IsLive<T>, mayStart?: (item: T) => boolean, isStrict?: boolean): Request<T> | undefined {
    if (this.ring !== undefined) return this.ring.head(isLive, mayStart, isStrict)
    for (;;) {
      const next = firstInTurn(this)
      // Compared again, because `isLive` itself may have changed the line.
      if (next === undefined || isLive === undefined || (isLive(next) && next === firstInTurn(this))) return next
    }
  }

  /** The request of a line that would be served last. */
  get lastInTurn(): Request<T> | undefined {
    return this.newestFirst ? this.first : this.last
  }

  /** This lane, or the one above it, below the root. */
  get top(): Lane<T> {
    let lane: Lane<T> = this
    while (lane.up?.up !== undefined) lane = lane.up
    return lane
  }

  /** Charges the cost of a request to this lane and the lanes above it. */
  charge(cost: number): void {
    for (let lane: Lane<T> = this; lane.up !== undefined; lane = lane.up) lane.up.ring!.charge(lane, cost)
  }

  /**
   * Corrects an earlier charge by `change`, below zero for a refund, in `levels` lanes from this one up. An empty lane
   * keeps its debt, but not its credit.
   */
  correct(change: number, levels: number = ALL_LEVELS): void {
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined && levels > 0; lane = up, up = lane.up, levels--) {
      const before = lane.deficit
      lane.deficit -= change
      if (lane.count === 0 && lane.deficit > 0) lane.deficit = 0
      // Credit forfeited here must not benefit the flows that share a queue with this one.
      change = before - lane.deficit
      up.ring!.corrected(lane)
      lane.recount()
    }
  }

  /** Number of lanes from this one up beside which others wait; {@link ALL_LEVELS} if that holds for all. */
  contestedLevels(root: Lane<T>): number {
    let levels = 0
    let lane: Lane<T> = this
    for (; lane.count < root.count; lane = lane.up!) levels++
    return lane === root ? ALL_LEVELS : levels
  }

  /** Sets the weights of this lane and those above it, from the first level on. */
  reweigh(weights: readonly number[]): void {
    let lane: Lane<T> = this
    for (let level = weights.length - 1; level >= 0; level--) {
      if (lane.weight !== weights[level]) {
        lane.weight = weights[level]!
        lane.recount()
        lane.up!.ring!.corrected(lane)
      }
      lane = lane.up!
    }
  }

  /** Updates the weights above: a lane counts while it waits or owes. */
  recount(): void {
    const { up } = this
    if (up === undefined) return
    const counts = this.count > 0 || this.deficit < 0 ? this.weight : 0
    if (counts === this.counted) return
    // Sums of weights of very different magnitudes are inexact, and a queue of negative weight would never have a turn.
    up.members = Math.max(0, up.members + counts - this.counted)
    this.counted = counts
    if (up.weighsAsMany) up.weight = up.members
    up.recount()
  }
}

// Functions, because a class with private methods marks each new object for them.

function firstInTurn<T>({ newestFirst, first, last }: Lane<T>): Request<T> | undefined {
  return newestFirst ? last : first
}

function subtract<T>(lane: Lane<T>, cost: number): void {
  lane.count--
  // Differences of floats are inexact; when nothing waits, the cost is exactly 0, and never less.
  lane.cost = lane.count === 0 ? 0 : Math.max(0, lane.cost - cost)
}
