import type { Lease, PriorityBandAggregate } from '@fairlead/core/doorman'
import { ExpiryWheel, type Waking } from './expiry-wheel.js'
import { type PriorityBand, PriorityBands } from './priority-bands.js'
import type { CallWork, Census, Corrections, ResourceWorld } from './resource-world.js'
import type { Rules } from './rules.js'
import { countable, exponentOf, roundUp } from './shares.js'

/** The wants of a group of a child's clients with one priority; a client is a single bucket of one. */
export class Bucket {
  place = 0
  band: PriorityBand | undefined = undefined
  priority: number
  subclients: number
  /** Sum of their weights, or their number. */
  mass: number
  wants: number
  /** The part of the wants that counts while the child is silent. */
  counted = 0

  constructor(priority: number, subclients: number, mass: number, wants: number) {
    this.priority = priority
    this.subclients = subclients
    this.mass = mass
    this.wants = wants
  }
}

/** The wants of a server's clients, in multiples of `unit`. */
export function bucketsOf(wants: readonly PriorityBandAggregate[], rules: Rules, unit: number): Bucket[] {
  return wants.map(({ priority, numClients, wants: each, weight }) => {
    const mass = rules.weighted ? countable(weight ?? numClients) : numClients
    return new Bucket(Math.min(priority, rules.highestPriority), numClients, mass, roundUp(countable(each), unit))
  })
}

/** A client, or a server that acts for many, as a node knows it for one resource. Times are seconds since the epoch. */
export class Child implements Waking {
  readonly id: string
  readonly isServer: boolean
  /** Distinguishes clients with the same id; `undefined` if the client does not state it. */
  readonly instance: string | undefined
  buckets: readonly Bucket[] = []
  wants = 0
  subclients = 0
  /** The amount that it may still be using, counted against the node's own lease. */
  held = 0
  /** The ledger's count of unit changes when `held` was written. */
  unitsChanged: number
  /** By the ledger's wall clock without its forward corrections. */
  heldUntil: number = Number.NEGATIVE_INFINITY
  /**
   * While it holds more than its last grant: the time until which its earlier grant may be in use, as {@link
   * heldUntil}.
   */
  hadUntil: number | undefined
  /** The largest grant since then. */
  givenSince = 0
  /** Capacity and expiry of the last answer. */
  granted = 0
  expiry = 0
  /** Distinguishes the last answer from others that expire in the same second. */
  serial = 0
  /** True once it has shown a lease. */
  shows = false
  /** The latest expiry of all answers. */
  #latest = 0
  refreshSeconds = 0
  /** Time of its last answered question, by the ledger's wall clock without corrections. */
  askedAt: number = Number.NEGATIVE_INFINITY
  /** Time between its last two questions: some clients ask less often than told. */
  gapSeconds = 0
  /** True if it has missed two refreshes. */
  silent = false
  /** The part of its wants that waits at this moment. */
  waiting = 0
  wakeAt = 0
  /** The client's count of releases at its last question: a release with a lower count is older than that. */
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

  /** Records the expiry of the last answer; no other answer ever has both its expiry and its serial. */
  ends(expiry: number, serial: number = expiry > this.#latest ? 0 : this.serial + 1): void {
    this.expiry = expiry
    this.serial = serial
    this.#latest = Math.max(this.#latest, expiry)
  }

  /** Whether this lease is its last one. */
  isLast(lease: Lease | undefined): boolean {
    return lease !== undefined && lease.expiryTime === this.expiry && (lease.serial ?? 0) === this.serial
  }
}

/** The parts of its node that a ledger uses. */
export type LedgerWorld = Pick<ResourceWorld, 'census' | 'turn' | 'corrections'>

/**
 * The clients that have asked for a resource, with their wants and the amounts that they may still be using. Times are
 * seconds since the epoch, passed as arguments.
 *
 * Times of a child are stored as steady times: wall-clock times without corrections. A correction changes one sum, and
 * touches no child.
 */
export class ChildLedger {
  #rules: Rules
  readonly #bands: PriorityBands
  readonly #census: Census
  readonly #turn: CallWork
  readonly #clients = new Map<string, Child>()
  /** Clients whose id was first used by another client, by id and instance. */
  readonly #rivals = new Map<string, Child>()
  readonly #servers = new Map<string, Child>()
  readonly #wheel = new ExpiryWheel<Child>()
  readonly #corrections: Corrections
  /** The wall clock without its corrections. */
  #steady = 0
  #held = 0
  /**
   * Amount held by children that have neither let go nor been granted anything since the last change of the unit, and
   * their number.
   */
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

  /** The amount that all children may still be using. */
  get held(): number {
    return this.#held + this.#heldBefore
  }

  /** Sum of all leases; expired ones are subtracted within two seconds. */
  get leased(): number {
    return this.#leased
  }

  /** Sum of all stated wants. */
  get wants(): number {
    return this.#wants
  }

  /** The part of the wants that waits at the clients, as last reported. */
  get waiting(): number {
    return this.#waiting
  }

  get bands(): PriorityBands {
    return this.#bands
  }

  /** Granted and held amounts are multiples of this. */
  get unit(): number {
    return this.#unit
  }

  get size(): number {
    return this.#clients.size + this.#rivals.size + this.#servers.size
  }

  /** Two processes with the same id are two clients if they state their instances. */
  findClient(id: string, instance: string | undefined): Child | undefined {
    const first = this.#clients.get(id)
    if (first === undefined ? this.#rivals.size === 0 : first.instance === instance) return first
    return this.#rivals.get(rivalKey(id, instance))
  }

  /** The client that first used the id of `client`, if that is another one. */
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

  /** Records a client's wants and the time of its question. O(log n), O(1) without a change. */
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

  /** Records a child's wants and the time of its question. */
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

  /** Sets the amount that the child may be using, until the time of {@link holdUntil}. */
  hold(child: Child, held: number): void {
    if (child.unitsChanged === this.#unitsChanged) this.#held += held - child.held
    else {
      child.unitsChanged = this.#unitsChanged
      // Amounts with very different units do not add up exactly, so the last one resets the sum.
      this.#heldBefore = --this.#before === 0 ? 0 : this.#heldBefore - child.held
      this.#held += held
    }
    child.held = held
  }

  /**
   * The child's held amount counts until then at least. If the clock is set back, it counts until then by the new
   * clock, like the child's lease; setting it forward does not end it earlier.
   */
  holdUntil(child: Child, second: number): void {
    child.heldUntil = Math.max(child.heldUntil, second - this.#corrections.forward)
  }

  /**
   * The amount that the child may be using if it does not show its last grant: all that it holds, until its earlier
   * grant has ended, and then the largest grant since. So a child that never shows a lease keeps nothing for ever.
   */
  mayUse(child: Child, now: number): number {
    const { hadUntil } = child
    const isOver = hadUntil !== undefined && hadUntil + this.#corrections.forward <= now
    return isOver ? Math.min(child.held, child.givenSince) : child.held
  }

  /** Records an answer with `granted` that expires at `second`; the child may be using `held`. */
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

  /** Time of the child's last question, by the present wall clock. */
  askedAt(child: Child): number {
    return child.askedAt + this.#corrections.total
  }

  /** Records the child's last grant. */
  lease(child: Child, granted: number): void {
    this.#leased += granted - child.granted
    child.granted = granted
  }

  /** Records the amount that waits at the child, as reported. */
  wait(child: Child, waiting: number): void {
    this.#waiting += waiting - child.waiting
    child.waiting = waiting
  }

  /** Reschedules the child after a change of its times. */
  watch(child: Child): void {
    this.#wheel.schedule(child, this.#wakeOf(child))
  }

  /** Drops everything that has expired, within the bound of the turn. O(1) per child and lease. */
  advance(now: number): void {
    const steady = now - this.#corrections.total
    if ((steady <= this.#steady && !this.#wheel.behind) || this.#turn.wakes <= 0) return
    this.#steady = Math.max(steady, this.#steady)
    const woken = this.#wheel.advance(Math.floor(this.#steady), (child) => this.#wake(child), this.#turn.wakes)
    this.#turn.wakes -= woken
  }

  /** Adapts the unit to a new capacity if it differs by much. O(1): amounts held before stay as they are. */
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

  /** Applies other rules; grants by the old ones keep their terms until the child asks again. O(bands). */
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

  /** The steady time from which the child's held amount no longer counts. */
  #letsGoAt(child: Child): number {
    return child.heldUntil + this.#corrections.forward - this.#corrections.total
  }

  /** A child that does not come back counts with the amount it holds, not with its earlier wants. */
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

/** Time of silence after which a child counts as silent: two refreshes, or two of its own intervals. */
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
