import type { Lease, PriorityBandAggregate } from '@fairlead/core/doorman'
import { ExpiryWheel, type Waking } from './expiry-wheel.js'
import { type PriorityBand, PriorityBands } from './priority-bands.js'
import type { Census, Corrections, ResourceWorld, Turn } from './resource-world.js'
import type { Rules } from './rules.js'
import { countable, exponentOf, roundUp } from './shares.js'

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
    const mass = rules.weighted ? countable(weight ?? numClients) : numClients
    return new Bucket(Math.min(priority, rules.highestPriority), numClients, mass, roundUp(countable(each), unit))
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
  /** While it holds more than it was last given: until when what it had before may be in use, as {@link heldUntil}. */
  hadUntil: number | undefined
  /** And the most that it was given since. */
  givenSince = 0
  /** The last answer. */
  granted = 0
  expiry = 0
  /** Tells the last answer from others that end in the same second. */
  serial = 0
  /** It has shown a lease. */
  shows = false
  /** The latest expiry of all answers. */
  #latest = 0
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
  /** How often the client had given something back when it asked: a release from before then is not about this. */
  releases = 0

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

  /** The last answer ends then; no other answer ever has both its expiry and its serial. */
  ends(expiry: number, serial: number = expiry > this.#latest ? 0 : this.serial + 1): void {
    this.expiry = expiry
    this.serial = serial
    this.#latest = Math.max(this.#latest, expiry)
  }

  /** Whether this lease is the last that it was given. */
  isLast(lease: Lease | undefined): boolean {
    return lease !== undefined && lease.expiryTime === this.expiry && (lease.serial ?? 0) === this.serial
  }
}

/** What a ledger needs of its node. */
export type LedgerWorld = Pick<ResourceWorld, 'census' | 'turn' | 'corrections'>

/**
 * The clients that have asked for a resource, what they want and what they may still be using. Times are seconds since
 * the epoch, and are handed in.
 *
 * What it keeps of a child are steady times: those of the wall clock without its corrections. A correction is one sum
 * more, and no child is touched.
 */
export class ChildLedger {
  #rules: Rules
  readonly #bands: PriorityBands
  readonly #census: Census
  readonly #turn: Turn
  readonly #clients = new Map<string, Child>()
  /** Clients under an id that another one had first, by id and instance. */
  readonly #rivals = new Map<string, Child>()
  readonly #servers = new Map<string, Child>()
  readonly #wheel = new ExpiryWheel<Child>()
  readonly #corrections: Corrections
  /** The wall clock without its corrections. */
  #steady = 0
  #held = 0
  /** What those hold that have not let go, nor been given anything, since the unit last changed, and their number. */
  #heldBefore = 0
  #before = 0
  #unitsChanged = 0
  #leased = 0
  #wants = 0
  #waiting = 0
  #exponent: number
  #unit: number

  constructor(rules: Rules, capacity: number, { census, turn, corrections }: LedgerWorld) {
    this.#census = census
    this.#turn = turn
    this.#corrections = corrections
    this.#rules = rules
    this.#bands = new PriorityBands(rules)
    this.#exponent = exponentOf(capacity)
    this.#unit = 2 ** this.#exponent
  }

  /** What all may still be using. */
  get held(): number {
    return this.#held + this.#heldBefore
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

  get bands(): PriorityBands {
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
    const child = new Child(id, false, this.#unitsChanged, instance)
    if (this.#clients.has(id)) this.#rivals.set(rivalKey(id, instance), child)
    else this.#clients.set(id, child)
    this.#census.joined(id)
    return child
  }

  addServer(id: string): Child {
    const child = new Child(id, true, this.#unitsChanged)
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
      this.#bands.enter(bucket, bucket.wants)
    }
    this.#wants += child.wants
  }

  /** From now on, and until the time of {@link holdUntil}, this is what the child may be using. */
  hold(child: Child, held: number): void {
    if (child.unitsChanged === this.#unitsChanged) this.#held += held - child.held
    else {
      child.unitsChanged = this.#unitsChanged
      // Units far apart do not add up exactly, so the last one leaves nothing behind.
      this.#heldBefore = --this.#before === 0 ? 0 : this.#heldBefore - child.held
      this.#held += held
    }
    child.held = held
  }

  /**
   * What the child may be using counts until then at least. If the clock is set back, that is waited for by the new
   * one, as the child does; if it is set forward, it is not over any sooner.
   */
  holdUntil(child: Child, second: number): void {
    child.heldUntil = Math.max(child.heldUntil, second - this.#corrections.forward)
  }

  /**
   * What the child may be using, if it does not show what it was given: all that it holds, until what it had before has
   * ended, and then the most that it was given since. So a child that never shows anything keeps nothing for ever.
   */
  mayUse(child: Child, now: number): number {
    const { hadUntil } = child
    const isOver = hadUntil !== undefined && hadUntil + this.#corrections.forward <= now
    return isOver ? Math.min(child.held, child.givenSince) : child.held
  }

  /** An answer that ends at `second` gives the child `granted`; it may be using `held`. */
  answer(child: Child, granted: number, held: number, second: number): void {
    if (held <= granted) child.hadUntil = undefined
    else if (child.hadUntil === undefined || held < child.held) {
      child.hadUntil = child.heldUntil
      child.givenSince = granted
    } else child.givenSince = Math.max(child.givenSince, granted)
    this.hold(child, held)
    this.lease(child, granted)
    child.ends(second)
  }

  /** When the child last asked, by the wall clock as it is now. */
  askedAt(child: Child): number {
    return child.askedAt + this.#corrections.total
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

  /** Lets go what has run out, as far as the turn allows. O(1) per child and lease. */
  advance(now: number): void {
    const steady = now - this.#corrections.total
    if ((steady <= this.#steady && !this.#wheel.behind) || this.#turn.wakes <= 0) return
    this.#steady = Math.max(steady, this.#steady)
    const woken = this.#wheel.advance(Math.floor(this.#steady), (child) => this.#wake(child), this.#turn.wakes)
    this.#turn.wakes -= woken
  }

  /** The capacity has changed: its unit follows from far. O(1): who holds something keeps that as it is. */
  scale(capacity: number): void {
    const exponent = exponentOf(capacity, this.#exponent)
    if (exponent === this.#exponent) return
    this.#exponent = exponent
    this.#unit = 2 ** exponent
    this.#unitsChanged++
    this.#heldBefore += this.#held
    this.#held = 0
    this.#before = this.size
  }

  /** Other rules hold from now on; for what was given by the old ones, from when the child asks again. O(bands). */
  govern(rules: Rules): void {
    this.#rules = rules
    this.#bands.govern(rules)
  }

  #heard(child: Child, now: number): void {
    if (child.askedAt > Number.NEGATIVE_INFINITY)
      child.gapSeconds = Math.min(now - this.askedAt(child), this.#rules.leaseLengthSeconds)
    child.askedAt = now - this.#corrections.total
  }

  #wake(child: Child): void {
    const steady = this.#steady
    if (child.granted > 0 && child.expiry <= steady + this.#corrections.total) this.lease(child, 0)
    if (child.held > 0 && this.#letsGoAt(child) <= steady) this.hold(child, 0)
    if (child.held === 0 && child.askedAt + this.#rules.leaseLengthSeconds <= steady) {
      this.remove(child)
      return
    }
    if (steady > child.askedAt + patienceWith(child)) this.#silence(child)
    this.watch(child)
  }

  /** The steady time at which what the child holds counts no more. */
  #letsGoAt(child: Child): number {
    return child.heldUntil + this.#corrections.forward - this.#corrections.total
  }

  /** Who does not come back counts with what it has, not with what it once wanted. */
  #silence(child: Child): void {
    child.silent = true
    const part = child.wants > child.held ? child.held / child.wants : 1
    for (const bucket of child.buckets) this.#bands.change(bucket, bucket.wants * part)
  }

  #wakeOf(child: Child): number {
    const last = child.held > 0 ? this.#letsGoAt(child) : child.askedAt + this.#rules.leaseLengthSeconds
    let second = Math.ceil(last)
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
