import type { PriorityBandAggregate } from '@fairlead/core/doorman'
import type { Waking } from './expiry-wheel.js'
import { roundUp } from './grid.js'
import type { PriorityBand } from './priority-bands.js'
import type { Rules } from './rules.js'

/** What some of a child's clients of one priority want together; a client is one bucket of one. */
export class Bucket {
  place = 0
  band: PriorityBand | undefined = undefined
  priority: number
  subclients: number
  /** Sum of their weights, or their number. */
  mass: number
  wants: number
  /** What counts of that while the child is silent. */
  counted = 0

  constructor(priority: number, subclients: number, mass: number, wants: number) {
    this.priority = priority
    this.subclients = subclients
    this.mass = mass
    this.wants = wants
  }
}

/** What a server says that its clients want, in multiples of `unit`. */
export function bucketsOf(wants: readonly PriorityBandAggregate[], rules: Rules, unit: number): Bucket[] {
  return wants.map(({ priority, numClients, wants: each, weight }) => {
    const mass = rules.weighted ? (weight ?? numClients) : numClients
    return new Bucket(Math.min(priority, rules.highestPriority), numClients, mass, roundUp(each, unit))
  })
}

/**
 * A client, or a server that speaks for many, as a node knows it for one resource. Times are seconds since the epoch.
 */
export class Child implements Waking {
  readonly id: string
  readonly isServer: boolean
  /** Tells it from others that go by the same id; `undefined` where it does not say. */
  readonly instance: string | undefined
  buckets: readonly Bucket[] = []
  wants = 0
  subclients = 0
  /** What it may still be using: it counts against the node's own lease. */
  held = 0
  /** How often the ledger's unit had changed when `held` was written. */
  unitsChanged: number
  /** As the ledger's wall clock would have it that was never set forward. */
  heldUntil: number = Number.NEGATIVE_INFINITY
  /** The last answer. */
  granted = 0
  expiry = 0
  refreshSeconds = 0
  /** When it last asked, and was answered, as the ledger's wall clock would have it that was never corrected. */
  askedAt: number = Number.NEGATIVE_INFINITY
  /** Between its last two questions: some come less often than they are told. */
  gapSeconds = 0
  /** It has missed two refreshes. */
  silent = false
  /** Of its wants, what waits at this moment. */
  waiting = 0
  wakeAt = 0

  constructor(id: string, isServer: boolean, unitsChanged: number, instance?: string) {
    this.id = id
    this.isServer = isServer
    this.unitsChanged = unitsChanged
    this.instance = instance
  }

  /** The capacity of its lease, 0 once that has run out. */
  leased(now: number): number {
    return this.expiry > now ? this.granted : 0
  }
}
