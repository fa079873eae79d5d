import type { Algorithm, Lease } from '../protocol.js'
import type { LeaseNode } from './node.js'
import type { Resource } from './resource.js'
import type { ResourceTemplate } from './template.js'

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
export interface ResourceSnapshot {
  id: string
  /** What the node may hand out. */
  capacity: number
  safeCapacity: number
  algorithm: Algorithm
  learning: boolean
  /** What is kept back for children of a predecessor. */
  reserve: number
  sumHas: number
  sumHeld: number
  sumWants: number
  /** Clients, those behind servers included. */
  clients: number
  /** The node's own lease from its parent. */
  lease?: Lease
  children: ChildSnapshot[]
}

/** A node of the tree: whether it is the master, its resources, and the configuration in force. */
export interface NodeSnapshot {
  id: string
  isMaster: boolean
  masterAddress?: string
  resources: ResourceSnapshot[]
  templates: ResourceTemplate[]
}

/** Copies; O(children). */
export function snapshotOf(
  node: LeaseNode,
  resources: Iterable<Resource>,
  templates: readonly ResourceTemplate[],
  now: number,
): NodeSnapshot {
  return {
    id: node.id,
    isMaster: node.mastership.isMaster(now),
    ...node.mastership.answer(now),
    resources: [...resources].map((resource) => resourceSnapshot(resource, now)),
    templates: structuredClone([...templates]),
  }
}

function resourceSnapshot(resource: Resource, now: number): ResourceSnapshot {
  resource.ledger.advance(now)
  const lease = resource.upstream?.lease(now)
  const children = [...resource.ledger.children()].map((child) => ({
    id: child.id,
    kind: child.isServer ? ('server' as const) : ('client' as const),
    wants: child.wants,
    subclients: child.subclients,
    has: child.leased(now),
    expiryTime: child.expiry,
    refreshInterval: child.refreshSeconds,
    held: child.held,
    askedAt: child.askedAt,
  }))
  return {
    id: resource.id,
    capacity: resource.capacity(now),
    safeCapacity: resource.safeCapacity,
    algorithm: structuredClone(resource.rules.algorithm),
    learning: resource.learning(now),
    reserve: resource.reserve(now),
    sumHas: children.reduce((sum, { has }) => sum + has, 0),
    sumHeld: resource.ledger.held,
    sumWants: children.reduce((sum, { wants }) => sum + wants, 0),
    clients: resource.ledger.bands.subclients,
    ...(lease === undefined ? {} : { lease: { ...lease } }),
    children,
  }
}
