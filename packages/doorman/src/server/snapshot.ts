import type { Algorithm, Lease } from '@fairlead/core/doorman'
import type { Child } from './child-ledger.js'
import type { ResourceTemplate } from './repository.js'
import type { ServerResource } from './server-resource.js'

/** A client or server, as the node knows it for one resource. Times are seconds since the epoch. */
export interface ChildSnapshot {
  id: string
  kind: 'client' | 'server'
  wants: number
  subclients: number
  /** Capacity of its lease; 0 after the end of the lease. */
  has: number
  expiryTime: number
  refreshInterval: number
  /** The amount that it may still be using. */
  held: number
  askedAt: number
}

/** One resource of a node: capacity, wants, leases and reserve, in its units. */
export interface ServerResourceSummary {
  id: string
  /** The amount that the node may grant. */
  capacity: number
  safeCapacity: number
  algorithm: Algorithm
  learning: boolean
  /** The amount reserved for children of a predecessor. */
  reserve: number
  /** No template matches it any more: nothing is granted, and leases count until they end. */
  withdrawn: boolean
  sumHas: number
  sumHeld: number
  sumWants: number
  /** The part of the wants that waits at the clients, as far as they report it. */
  sumWaiting: number
  /** Answered questions about it since it was created. */
  asked: number
  /** Clients, those behind servers included. */
  clients: number
  /** The node's own lease from its parent. */
  lease?: Lease
}

/** The same, with all clients and servers. */
export interface ServerResourceSnapshot extends ServerResourceSummary {
  children: ChildSnapshot[]
}

/** A node of the tree: whether it is the master, its resources, and the configuration in force. */
export interface NodeSummary {
  id: string
  isMaster: boolean
  masterAddress?: string
  resources: ServerResourceSummary[]
  templates: readonly ResourceTemplate[]
}

/** The same, with all clients and servers. */
export interface NodeSnapshot extends NodeSummary {
  resources: ServerResourceSnapshot[]
}

/** Children between two pauses of a walk: more would keep calls waiting. */
const WALKED_AT_ONCE = 5_000

/**
 * The children with the largest leases, at most `most`, largest first. Pauses every few thousand, so that other calls
 * are answered; clients that come or go meanwhile may be missed.
 */
export function* largestOf(
  { ledger }: ServerResource,
  most: number,
  now: number,
): Generator<undefined, ChildSnapshot[], undefined> {
  const largest = new Largest(most, (a: Child, b: Child) => b.leased(now) - a.leased(now) || b.wants - a.wants)
  let looks = 0
  for (const child of ledger.children()) {
    if (++looks % WALKED_AT_ONCE === 0) yield
    largest.add(child)
  }
  return largest.sorted().map((child) => ({
    id: child.id,
    kind: child.isServer ? ('server' as const) : ('client' as const),
    wants: child.wants,
    subclients: child.subclients,
    has: child.leased(now),
    expiryTime: child.expiry,
    refreshInterval: child.refreshSeconds,
    held: child.held,
    askedAt: ledger.askedAt(child),
  }))
}

/** A copy. */
export function summaryOf(resource: ServerResource, now: number): ServerResourceSummary {
  const { ledger } = resource
  ledger.advance(now)
  const lease = resource.upstream?.lease(now)
  return {
    id: resource.id,
    capacity: resource.capacity(now),
    safeCapacity: resource.safeCapacity,
    algorithm: resource.rules.algorithm,
    learning: resource.learning(now),
    reserve: resource.reserve(now),
    withdrawn: resource.isWithdrawn,
    sumHas: ledger.leased,
    sumHeld: ledger.held,
    sumWants: ledger.wants,
    sumWaiting: ledger.waiting,
    asked: resource.asked,
    clients: ledger.bands.subclients,
    ...(lease === undefined ? {} : { lease: { ...lease } }),
  }
}

/** Keeps the largest of many items that are added one by one. */
export class Largest<T> {
  readonly #most: number
  readonly #compare: (a: T, b: T) => number
  #found: T[] = []
  #least: T | undefined

  /** Keeps `most` items; `compare` is below 0 if `a` is the larger. */
  constructor(most: number, compare: (a: T, b: T) => number) {
    this.#most = most
    this.#compare = compare
  }

  /** O(1) amortised: it sorts twice `most` items so rarely that all sorts together cost no more than the walk. */
  add(item: T): void {
    if (this.#least !== undefined && this.#compare(item, this.#least) >= 0) return
    this.#found.push(item)
    if (this.#found.length < 2 * this.#most) return
    this.#found = this.sorted()
    this.#least = this.#found.at(-1)
  }

  /** Largest first. */
  sorted(): T[] {
    return this.#found.sort(this.#compare).slice(0, this.#most)
  }
}
