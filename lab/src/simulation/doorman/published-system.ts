import type { Job } from './job.js'
import {
  CAPACITY,
  type Client,
  type Grant,
  LEASE_SECONDS,
  MINIMUM_SECONDS,
  REFRESH_SECONDS,
  RETRY_SECONDS,
  type Server,
  type System,
  type World,
} from './system.js'
import type { Thread } from './timeline.js'

interface Lease extends Grant {
  readonly refresh: number
}

/** The published server's record of a client or a server. */
interface Record {
  wants: number
  lease: Lease | undefined
  /** For a server, the total that it reports for its children; for a client, its capacity. */
  outstanding: number | undefined
  askedAt: number
}

interface Ask {
  readonly id: string
  readonly wants: number
  readonly has: Lease | undefined
  readonly outstanding: number | undefined
}

/** `'not master'`, or a lease, or undefined because the request came too soon. */
type Reply = 'not master' | Lease | undefined

/** The refresh interval of a master with the root's own lease. */
const ROOT_REFRESH_SECONDS = 16
/** Sleep of a task that is not the master. */
const ASLEEP_SECONDS = 86_400

/**
 * The simulation of the original system, as published: leases are echoed while a master learns, then proportional
 * shares, with the sum of all wants sent up the tree. It has one resource.
 */
export class PublishedServer implements Server, Thread {
  at = 0
  readonly #world: World
  readonly #job: Job<PublishedServer>
  #parent: PublishedServer | undefined
  #isMaster = false
  #wonAt = 0
  #lease: Lease | undefined
  /** A child has asked for the resource. */
  #known = false
  #records = new Map<string, Record>()
  #cleanedAt = Number.NEGATIVE_INFINITY

  /** Identifies this task: for the parent, its successor is another client. */
  readonly #id: string

  constructor(world: World, job: Job<PublishedServer>, task: number) {
    this.#world = world
    this.#job = job
    this.#id = `${job.name}:${task}`
    world.timeline.add(this)
  }

  win(now: number): void {
    this.#isMaster = true
    this.#wonAt = now
    this.at = now
  }

  lose(): void {
    this.#isMaster = false
    this.#lease = undefined
    this.#known = false
    this.#records = new Map()
  }

  own(now: number): Grant | undefined {
    return this.#lease !== undefined && this.#lease.expiry > now ? this.#lease : undefined
  }

  /** Sums over the children of a master that knows the resource. */
  sums(): [wants: number, has: number, leases: number, outstanding: number] | undefined {
    if (!this.#isMaster || !this.#known) return undefined
    let [wants, leases, outstanding] = [0, 0, 0]
    for (const record of this.#records.values()) {
      wants += record.wants
      leases += record.lease?.capacity ?? 0
      outstanding += record.outstanding ?? record.lease?.capacity ?? 0
    }
    return [wants, this.#lease?.capacity ?? 0, leases, outstanding]
  }

  run(now: number): void {
    if (!this.#isMaster) this.at = now + ASLEEP_SECONDS
    else if (this.#job.parent !== undefined) this.#askParent(this.#job.parent, now)
    else if (!this.#known) this.at = now + RETRY_SECONDS
    else {
      this.#lease = { capacity: CAPACITY, expiry: now + LEASE_SECONDS, refresh: ROOT_REFRESH_SECONDS }
      this.at = now + ROOT_REFRESH_SECONDS
    }
  }

  request({ id, wants, has, outstanding }: Ask): Reply {
    if (!this.#isMaster) return 'not master'
    const { now } = this.#world.timeline
    this.#clean(now)
    this.#known = true
    const record = this.#records.get(id) ?? {
      wants: 0,
      lease: undefined,
      outstanding: 0,
      askedAt: Number.NEGATIVE_INFINITY,
    }
    this.#records.set(id, record)
    if (now - record.askedAt < MINIMUM_SECONDS) return undefined
    record.askedAt = now
    record.wants = wants
    record.lease = has
    record.outstanding = outstanding
    const capacity = now <= this.#wonAt + LEASE_SECONDS ? (has?.capacity ?? 0) : this.#share(record)
    record.lease = this.#leaseOf(capacity, now)
    return record.lease
  }

  #share(record: Record): number {
    record.lease = undefined
    const [wants, own, leases] = this.sums()!
    // The original divides by zero here, and ends; in its own scenarios there are always wants.
    if (wants === 0) return 0
    const free = Math.max(own - leases, 0)
    return wants < own ? Math.min(record.wants, free) : Math.min((record.wants * own) / wants, free)
  }

  #leaseOf(capacity: number, now: number): Lease {
    const expiry = Math.min(this.#lease?.expiry ?? Number.POSITIVE_INFINITY, now + LEASE_SECONDS)
    const refresh = Math.floor(REFRESH_SECONDS * 0.5 ** this.#job.level)
    return { capacity, expiry, refresh: now + refresh >= expiry ? expiry - now - 1 : refresh }
  }

  /** Once a second: removes children whose leases have expired, or everything when the server's own has. */
  #clean(now: number): void {
    if (this.#cleanedAt >= now || !this.#known) return
    this.#cleanedAt = now
    if (now <= this.#wonAt + LEASE_SECONDS) return
    if (this.#lease !== undefined && this.#lease.expiry <= now) {
      this.#records.clear()
      this.#known = false
      return
    }
    for (const [id, { lease }] of this.#records)
      if (lease !== undefined && lease.expiry <= now) this.#records.delete(id)
  }

  #askParent(parent: Job<PublishedServer>, now: number): void {
    if (this.#lease !== undefined && this.#lease.expiry <= now) this.#lease = undefined
    this.#parent ??= masterOf(parent, this.#world)
    this.at = now + RETRY_SECONDS
    if (this.#parent === undefined) return
    const sums = this.sums()
    if (sums === undefined) return
    const [wants, , , outstanding] = sums
    this.#world.messages++
    const reply = this.#parent.request({ id: this.#id, wants, has: this.#lease, outstanding })
    if (reply === 'not master') {
      this.#parent = undefined
      this.at = now
    } else if (reply !== undefined) {
      this.#lease = reply
      this.at = now + (reply.refresh > 0 ? reply.refresh : RETRY_SECONDS)
    }
  }
}

class PublishedClient implements Client, Thread {
  at = 0
  wants: number
  readonly #name: string
  readonly #world: World
  readonly #job: Job<PublishedServer>
  #master: PublishedServer | undefined
  #lease: Lease | undefined

  constructor(world: World, job: Job<PublishedServer>, name: string, wants: number) {
    this.#world = world
    this.#job = job
    this.#name = name
    this.wants = wants
    world.timeline.add(this)
  }

  has(now: number): number {
    return this.#lease !== undefined && this.#lease.expiry > now ? this.#lease.capacity : 0
  }

  run(now: number): void {
    if (this.#lease !== undefined && this.#lease.expiry <= now) this.#lease = undefined
    this.#master ??= masterOf(this.#job, this.#world)
    this.at = now + RETRY_SECONDS
    if (this.#master === undefined) return
    this.#world.messages++
    const reply = this.#master.request({ id: this.#name, wants: this.wants, has: this.#lease, outstanding: undefined })
    if (reply === 'not master') {
      this.#master = undefined
      this.at = now
    } else if (reply !== undefined) {
      this.#lease = reply
      this.at = now + (reply.refresh > 0 ? reply.refresh : RETRY_SECONDS)
    }
  }
}

/** Asks any task of a job for its master. */
function masterOf(job: Job<PublishedServer>, world: World): PublishedServer | undefined {
  world.chances.discovery.upTo(job.tasks.length - 1)
  return job.master
}

export const publishedSystem: System<PublishedServer> = {
  server: (world, job, task) => new PublishedServer(world, job, task),
  client: (world, job, name, wants) => new PublishedClient(world, job, name, wants),
}
