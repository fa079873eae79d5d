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
  /** Of its lease; 0 when that has run out. */
  has: number
  expiryTime: number
  refreshInterval: number
  /** What it may still be using. */
  held: number
  askedAt: number
}

/** One resource of a node: what there is, wanted, leased and kept back, in its units. */
export interface ServerResourceSummary {
  id: string
  /** What the node may hand out. */
  capacity: number
  safeCapacity: number
  algorithm: Algorithm
  learning: boolean
  /** What is kept back for children of a predecessor. */
  reserve: number
  /** No template matches it any more: nothing is given, and what is leased counts until it ends. */
  withdrawn: boolean
  sumHas: number
  sumHeld: number
  sumWants: number
  /** What of that waits at the clients, as far as they say so. */
  sumWaiting: number
  /** Questions about it that were answered since it is known. */
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

/** Between two pauses of a long look: more would keep calls waiting. */
const WALKED_AT_ONCE = 5_000

/**
 * The children with the largest leases, `most` of them at most, the largest first. Stops after each few thousand, so
 * that others have their turn; clients that come or go meanwhile may be missed.
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

/** The largest of many things that are shown one by one; the others are forgotten on the way. */
export class Largest<T> {
  readonly #most: number
  readonly #compare: (a: T, b: T) => number
  #found: T[] = []
  #least: T | undefined

  /** Keeps `most` of them; `compare` is below 0 if `a` is the larger. */
  constructor(most: number, compare: (a: T, b: T) => number) {
    this.#most = most
    this.#compare = compare
  }

  /** O(1), with a sort of twice `most` so seldom that all of them cost no more than the walk. */
  add(item: T): void {
    if (this.#least !== undefined && this.#compare(item, this.#least) >= 0) return
    this.#found.push(item)
    if (this.#found.length < 2 * this.#most) return
    this.#found = this.sorted()
    this.#least = this.#found.at(-1)
  }

  /** The largest first. */
  sorted(): T[] {
    return this.#found.sort(this.#compare).slice(0, this.#most)
  }
}
