import { Bands } from './bands.js'
import { Bucket, Child } from './child.js'
import { ExpiryWheel } from './expiry-wheel.js'
import { exponentOf, roundUp } from './grid.js'
import type { Rules } from './rules.js'

/** More than that is not let go in one call, which would keep others waiting. */
const MOST_WAKES = 1_000

/** How many children there are on a node, and at how many resources each of them. */
export class Census {
  readonly #byId = new Map<string, number>()
  #size = 0

  /** Children, each counted at every resource. */
  get size(): number {
    return this.#size
  }

  /** Resources of one. */
  of(id: string): number {
    return this.#byId.get(id) ?? 0
  }

  joined(id: string): void {
    this.#size++
    this.#byId.set(id, this.of(id) + 1)
  }

  left(id: string): void {
    this.#size--
    const left = this.of(id) - 1
    if (left > 0) this.#byId.set(id, left)
    else this.#byId.delete(id)
  }
}

/**
 * Who has asked for a resource, what they want and what they may still be using. Times are seconds since the epoch,
 * and are handed in.
 */
export class Ledger {
  #rules: Rules
  #bands: Bands
  readonly #census: Census
  readonly #clients = new Map<string, Child>()
  /** Clients under an id that another one had first, by id and instance. */
  readonly #rivals = new Map<string, Child>()
  readonly #servers = new Map<string, Child>()
  #wheel = new ExpiryWheel<Child>()
  #now = 0
  #held = 0
  #leased = 0
  #wants = 0
  #waiting = 0
  #exponent: number
  #unit: number

  constructor(rules: Rules, capacity: number, census: Census) {
    this.#census = census
    this.#rules = rules
    this.#bands = new Bands(rules.minimumShares, rules.headroom)
    this.#exponent = exponentOf(capacity)
    this.#unit = 2 ** this.#exponent
  }

  /** What all may still be using. */
  get held(): number {
    return this.#held
  }

  /** Sum of all leases; what runs out is taken off within two seconds. */
  get leased(): number {
    return this.#leased
  }

  /** Sum of what all have said that they want. */
  get wants(): number {
    return this.#wants
  }

  /** What of it waits at the clients, as they last said. */
  get waiting(): number {
    return this.#waiting
  }

  get bands(): Bands {
    return this.#bands
  }

  /** What is granted and held comes in multiples of this. */
  get unit(): number {
    return this.#unit
  }

  get size(): number {
    return this.#clients.size + this.#rivals.size + this.#servers.size
  }

  /** Two processes that go by the same id are two clients, where they say which instance they are. */
  findClient(id: string, instance: string | undefined): Child | undefined {
    const first = this.#clients.get(id)
    if (first === undefined ? this.#rivals.size === 0 : first.instance === instance) return first
    return this.#rivals.get(rivalKey(id, instance))
  }

  /** The client that had the id of `client` first, if that is another one. */
  rivalOf(client: Child): Child | undefined {
    if (this.#rivals.size === 0) return undefined
    const first = this.#clients.get(client.id)
    return first === client ? undefined : first
  }

  findServer(id: string): Child | undefined {
    return this.#servers.get(id)
  }

  addClient(id: string, instance: string | undefined): Child {
    const child = new Child(id, false, instance)
    if (this.#clients.has(id)) this.#rivals.set(rivalKey(id, instance), child)
    else this.#clients.set(id, child)
    this.#census.joined(id)
    return child
  }

  addServer(id: string): Child {
    const child = new Child(id, true)
    this.#servers.set(id, child)
    this.#census.joined(id)
    return child
  }

  remove(child: Child): void {
    for (const bucket of child.buckets) this.#bands.leave(bucket)
    child.buckets = []
    this.#wants -= child.wants
    child.wants = 0
    this.hold(child, 0)
    this.lease(child, 0)
    this.wait(child, 0)
    this.#wheel.forget(child)
    this.#census.left(child.id)
    if (child.isServer) this.#servers.delete(child.id)
    else if (this.#clients.get(child.id) === child) this.#clients.delete(child.id)
    else this.#rivals.delete(rivalKey(child.id, child.instance))
  }

  /** Nobody is known any more. */
  clear(): void {
    for (const child of this.children()) this.#census.left(child.id)
    this.#clients.clear()
    this.#rivals.clear()
    this.#servers.clear()
  }

  *children(): Generator<Child> {
    yield* this.#servers.values()
    yield* this.#clients.values()
    yield* this.#rivals.values()
  }

  /** Writes down what a client wants, and that it has been heard of. O(log n), O(1) when it is the same as before. */
  enterClient(child: Child, priority: number, mass: number, wants: number, now: number): void {
    const bucket = child.buckets[0]
    if (bucket === undefined || bucket.priority !== priority || child.silent) {
      this.enter(child, [new Bucket(priority, 1, mass, wants)], now)
      return
    }
    this.#heard(child, now)
    if (bucket.wants === wants && bucket.mass === mass) return
    bucket.mass = mass
    bucket.wants = wants
    this.#wants += wants - child.wants
    child.wants = wants
    this.#bands.change(bucket, wants)
  }

  /** Writes down what a child wants, and that it has been heard of. */
  enter(child: Child, buckets: readonly Bucket[], now: number): void {
    this.#heard(child, now)
    if (!child.silent && same(child.buckets, buckets)) return
    for (const bucket of child.buckets) this.#bands.leave(bucket)
    child.buckets = buckets
    child.silent = false
    this.#wants -= child.wants
    child.wants = 0
    child.subclients = 0
    for (const bucket of buckets) {
      child.wants += bucket.wants
      child.subclients += bucket.subclients
      this.#bands.enter(bucket, bucket.wants, this.#priorityOf(bucket))
    }
    this.#wants += child.wants
  }

  /** From now on, and until `heldUntil`, this is what the child may be using. */
  hold(child: Child, held: number): void {
    this.#held += held - child.held
    child.held = held
  }

  /** This is what it was last given. */
  lease(child: Child, granted: number): void {
    this.#leased += granted - child.granted
    child.granted = granted
  }

  /** So much waits at the child, as it says. */
  wait(child: Child, waiting: number): void {
    this.#waiting += waiting - child.waiting
    child.waiting = waiting
  }

  /** The child's times have changed. */
  watch(child: Child): void {
    this.#wheel.schedule(child, this.#wakeOf(child))
  }

  /** Lets go what has run out. O(1) per child and lease; no more than {@link MOST_WAKES} in one go. */
  advance(now: number): void {
    if (now <= this.#now && !this.#wheel.behind) return
    this.#now = Math.max(now, this.#now)
    this.#wheel.advance(Math.floor(this.#now), (child) => this.#wake(child, this.#now), MOST_WAKES)
  }

  /**
   * The clock was corrected by so many seconds. What clients have ends when their clocks say so, and none of it is
   * over sooner than it would have been: both are waited for. O(n).
   */
  shift(seconds: number): void {
    this.#now += seconds
    const isBack = seconds < 0
    // What is due too early looks again; a wheel that has turned too far would come too late.
    if (isBack) {
      this.#wheel = new ExpiryWheel()
      this.#wheel.advance(Math.floor(this.#now), () => {})
    }
    for (const child of this.children()) {
      child.askedAt += seconds
      child.heldUntil += Math.max(0, seconds)
      if (!isBack) continue
      child.wakeAt = 0
      this.watch(child)
    }
  }

  /** The capacity has changed: its unit follows from far. O(n) when it does. */
  scale(capacity: number): void {
    const exponent = exponentOf(capacity, this.#exponent)
    if (exponent === this.#exponent) return
    this.#exponent = exponent
    this.#unit = 2 ** exponent
    this.#held = 0
    this.#leased = 0
    for (const child of this.children()) {
      child.held = roundUp(child.held, this.#unit)
      this.#held += child.held
      this.#leased += child.granted
    }
  }

  /** Other rules hold from now on. O(n log n), or O(n) when only times are others. */
  govern(rules: Rules): void {
    const divides = divisionOf(rules) !== divisionOf(this.#rules)
    this.#rules = rules
    if (divides) this.#bands = new Bands(rules.minimumShares, rules.headroom)
    for (const child of this.children()) {
      if (divides)
        for (const bucket of child.buckets) this.#bands.enter(bucket, bucket.counted, this.#priorityOf(bucket))
      this.watch(child)
    }
  }

  /** Only our FAIR_SHARE knows priorities. */
  #priorityOf(bucket: Bucket): number {
    return this.#rules.kind === 'FAIR_SHARE' && !this.#rules.published ? bucket.priority : 0
  }

  #heard(child: Child, now: number): void {
    if (child.askedAt > Number.NEGATIVE_INFINITY)
      child.gapSeconds = Math.min(now - child.askedAt, this.#rules.leaseLengthSeconds)
    child.askedAt = now
  }

  #wake(child: Child, now: number): void {
    if (child.granted > 0 && child.expiry <= now) this.lease(child, 0)
    if (child.held > 0 && child.heldUntil <= now) this.hold(child, 0)
    if (child.held === 0 && child.askedAt + this.#rules.leaseLengthSeconds <= now) {
      this.remove(child)
      return
    }
    if (now > child.askedAt + patienceWith(child)) this.#silence(child)
    this.watch(child)
  }

  /** Who does not come back counts with what it has, not with what it once wanted. */
  #silence(child: Child): void {
    child.silent = true
    const part = child.wants > child.held ? child.held / child.wants : 1
    for (const bucket of child.buckets) this.#bands.change(bucket, bucket.wants * part)
  }

  #wakeOf(child: Child): number {
    let second = child.held > 0 ? Math.ceil(child.heldUntil) : Math.ceil(child.askedAt + this.#rules.leaseLengthSeconds)
    if (!child.silent) second = Math.min(second, Math.floor(child.askedAt + patienceWith(child)) + 1)
    return second
  }
}

/** How long nothing is heard before a child counts as silent: two refreshes, or two of its own intervals. */
function patienceWith({ refreshSeconds, gapSeconds }: Child): number {
  return 2 * Math.max(refreshSeconds, gapSeconds)
}

function rivalKey(id: string, instance: string | undefined): string {
  return `${instance ?? ''}\u0000${id}`
}

/** What of the rules decides how children are sorted. */
function divisionOf({ kind, published, headroom, minimumShares }: Rules): string {
  return JSON.stringify([kind, published, headroom, ...minimumShares])
}

function same(present: readonly Bucket[], next: readonly Bucket[]): boolean {
  if (present.length !== next.length) return false
  for (let i = 0; i < present.length; i++) {
    const ours = present[i]!
    const theirs = next[i]!
    if (ours.wants !== theirs.wants || ours.mass !== theirs.mass) return false
    if (ours.subclients !== theirs.subclients || ours.priority !== theirs.priority) return false
  }
  return true
}
