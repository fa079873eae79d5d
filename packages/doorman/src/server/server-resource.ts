import type {
  Lease,
  ResourceRequest,
  ServerCapacityResourceRequest,
  ServerCapacityResourceResponse,
} from '@fairlead/core/doorman'
import { aggregate } from './aggregate.js'
import { bucketsOf, type Child, ChildLedger } from './child-ledger.js'
import { HandoverReserve } from './handover-reserve.js'
import type { ResourceTemplate } from './repository.js'
import type { Corrections, ResourceWorld } from './resource-world.js'
import { decayed, type Rules, rulesOf } from './rules.js'
import { type Before, countable, grantOf, roundDown, roundUp, targetOf } from './shares.js'
import { type NodeDemand, Upstream } from './upstream.js'

/** Time for which a server counts a lease beyond its stated end: expiries are whole seconds, and clocks differ. */
const GRACE_SECONDS = 1
/** Tolerance, as a part: a grant this close to its target is settled, and a smaller reduction is ignored. */
const SETTLED = 0.015
/** Part of the minimum interval that must pass: timers and networks are not exact. */
const PUNCTUAL = 0.9
/** Shortest time between two answers to a client that needs one early. */
const URGENT_SECONDS = 0.4
/**
 * Longest time for which a stated lease of a predecessor is believed if its length is unknown: a client can state any.
 */
const BELIEVED_SECONDS = 86_400
/** Wants that changed by more than this part do not wait for the minimum interval. */
const MOVED = 0.2

/**
 * One resource at one node: divides it so that the amounts that children may be using never exceed the node's own.
 *
 * The amount that a child may still be using is *held* against the node's own lease until the child is known to have
 * let go. Times are seconds since the epoch, passed as arguments. A decision costs O(log n) in children.
 */
export class ServerResource {
  readonly id: string
  readonly #minimumSeconds: number
  readonly #reserve: HandoverReserve
  readonly #corrections: Corrections
  /** Without the forward corrections of the clock. */
  readonly #learnFrom: number
  readonly #upstream: Upstream | undefined
  readonly #ledger: ChildLedger
  readonly #before: Before = { known: false, wants: 0, subclients: 0 }
  #rules: Rules
  #template: ResourceTemplate
  #safeCapacity: number | undefined
  #isWithdrawn = false
  #asked = 0
  /** From the last decision: the child's final share, and each client's share without an answer. */
  #target = 0
  #share = 0

  /**
   * `learnFrom` is the latest time at which a predecessor may have granted leases; minus infinity without a
   * predecessor. `leasesEnd` is the latest end of such a lease, as far as known.
   */
  constructor(
    id: string,
    template: ResourceTemplate,
    learnFrom: number,
    world: ResourceWorld,
    leasesEnd: number = Number.NEGATIVE_INFINITY,
  ) {
    const { isRoot, minimumSeconds, corrections } = world
    this.id = id
    this.#minimumSeconds = minimumSeconds
    this.#template = template
    this.#rules = rulesOf(template.algorithm)
    this.#safeCapacity = template.safeCapacity
    const none = learnFrom === Number.NEGATIVE_INFINITY
    const inherited = none ? 0 : isRoot ? template.capacity : undefined
    this.#learnFrom = learnFrom - corrections.forward
    this.#corrections = corrections
    const until = Math.max(learnFrom + this.#rules.learningSeconds, leasesEnd)
    this.#reserve = new HandoverReserve(until, inherited, corrections)
    this.#upstream = isRoot ? undefined : new Upstream(corrections)
    this.#ledger = new ChildLedger(this.#rules, isRoot ? template.capacity : 0, world)
  }

  get rules(): Rules {
    return this.#rules
  }

  get template(): ResourceTemplate {
    return this.#template
  }

  /** No template matches it any more: leases count until they end, and no new ones are granted. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  /** Number of its answered questions. */
  get asked(): number {
    return this.#asked
  }

  get ledger(): ChildLedger {
    return this.#ledger
  }

  get upstream(): Upstream | undefined {
    return this.#upstream
  }

  /** The amount that the node may grant. */
  capacity(now: number): number {
    return this.#upstream === undefined ? this.#template.capacity : this.#upstream.capacity(now)
  }

  /** The amount reserved for children of a predecessor. */
  reserve(now: number): number {
    return this.#reserve.at(now)
  }

  learning(now: number): boolean {
    return this.#reserve.learning(now)
  }

  /** The amount that a client may use when no server answers. */
  get safeCapacity(): number {
    return this.#safeCapacity ?? this.#share
  }

  /**
   * Decides on a client's request; `releases` is the number of its earlier releases. `undefined` if it asks again too
   * early.
   */
  decideClient(
    id: string,
    instance: string | undefined,
    request: ResourceRequest,
    now: number,
    releases: number = 0,
  ): Lease | undefined {
    this.#ledger.advance(now)
    const known = this.#ledger.findClient(id, instance)
    if (known !== undefined && this.#tooEarly(known, now) && !this.#isUrgent(known, request, now)) return undefined
    const child = known ?? this.#ledger.addClient(id, instance)
    child.releases = Math.max(child.releases, releases)
    const has = request.has !== undefined && request.has.expiryTime > now - GRACE_SECONDS ? request.has : undefined
    const inUse = Math.min(request.inUse ?? 0, this.capacity(now))
    if (known === undefined && (has !== undefined || inUse > 0))
      this.#believe(child, Math.max(has?.capacity ?? 0, inUse), has, now)
    this.#note(child)
    this.#ledger.wait(child, countable(request.waiting ?? 0))
    const wants = roundUp(countable(request.wants), this.#ledger.unit)
    const priority = Math.min(request.priority, this.#rules.highestPriority)
    this.#ledger.enterClient(child, priority, this.#rules.weighted ? countable(request.weight ?? 1) : 1, wants, now)
    return this.#decide(child, request.has, has?.capacity ?? 0, undefined, now, inUse)
  }

  /** True if another client has the same id, and has asked since this one last did. */
  isRivalled(id: string, instance: string | undefined): boolean {
    const client = this.#ledger.findClient(id, instance)
    const rival = client && this.#ledger.rivalOf(client)
    return rival !== undefined && rival.askedAt > client!.askedAt && client!.askedAt > Number.NEGATIVE_INFINITY
  }

  /** Decides on a server's request; `undefined` if it asks again too early. */
  decideServer(
    id: string,
    request: ServerCapacityResourceRequest,
    now: number,
  ): ServerCapacityResourceResponse | undefined {
    this.#ledger.advance(now)
    const { outstanding } = request
    const known = this.#ledger.findServer(id)
    const succeeds = known !== undefined && outstanding !== undefined && request.has === undefined && known.held > 0
    if (known !== undefined && !succeeds && this.#tooEarly(known, now)) return undefined
    const inherited = known?.held ?? (this.#reserve.learning(now) ? undefined : 0)
    const child = known ?? this.#ledger.addServer(id)
    const has = request.has !== undefined && request.has.expiryTime > now - GRACE_SECONDS ? request.has : undefined
    // A promise outlasts the lease: a predecessor may have reduced that without the server knowing.
    const claimed = outstanding ?? has?.capacity ?? 0
    if (known === undefined || (outstanding ?? 0) > known.held) this.#believe(child, claimed, has, now)
    this.#note(child)
    this.#ledger.enter(child, bucketsOf(request.wants, this.#rules, this.#ledger.unit), now)
    const gets = this.#decide(child, request.has, has?.capacity ?? 0, outstanding, now)
    const response: ServerCapacityResourceResponse = {
      resourceId: this.id,
      gets,
      algorithm: this.#rules.algorithm,
      safeCapacity: this.safeCapacity,
      target: this.#target,
    }
    if (request.has === undefined && inherited !== undefined) response.inherited = inherited
    return response
  }

  /** Releases the client's grants, unless it has already asked again with a higher number of releases. */
  release(id: string, instance: string | undefined, now: number, releases: number = Number.POSITIVE_INFINITY): void {
    this.#ledger.advance(now)
    const child = this.#ledger.findClient(id, instance)
    if (child !== undefined && child.releases <= releases) this.#ledger.remove(child)
    this.#considerAsking(now)
  }

  /** Takes a new template; `undefined`: none matches. */
  configure(template: ResourceTemplate | undefined): void {
    this.#isWithdrawn = template === undefined
    if (template === undefined) return
    this.#template = template
    if (this.#upstream !== undefined) return
    this.#safeCapacity = template.safeCapacity
    this.#govern(rulesOf(template.algorithm))
    this.#ledger.scale(template.capacity)
  }

  /** The question to the parent. From now on it is a promise. */
  ask(now: number, minimumSeconds: number): ServerCapacityResourceRequest {
    this.#ledger.advance(now)
    const standing = this.#standing(now)
    const has = this.#upstream!.lease(now)
    this.#upstream!.asked(standing, minimumSeconds, now)
    const request: ServerCapacityResourceRequest = {
      resourceId: this.id,
      wants: aggregate(this.#ledger, this.#reserve.at(now), this.#rules.weighted),
      outstanding: standing.outstanding,
    }
    if (has !== undefined) request.has = has
    return request
  }

  /** Takes the parent's answer, which is already checked. A negative amount counts as 0. */
  answered(response: ServerCapacityResourceResponse, now: number): void {
    this.#ledger.advance(now)
    const { algorithm, inherited, safeCapacity } = response
    const gets = { ...response.gets, capacity: Math.max(0, response.gets.capacity) }
    if (algorithm !== undefined) {
      this.#govern(rulesOf(decayed(algorithm)))
      // The node's own template does not govern its leases.
      this.#reserve.extend(this.#learnFrom + this.#corrections.forward + this.#rules.learningSeconds, now)
    }
    if (safeCapacity !== undefined) this.#safeCapacity = safeCapacity
    this.#reserve.inherit(inherited, gets.capacity, this.#ledger.held)
    this.#upstream!.answered({ ...response, gets }, this.#ledger.size > 0, now)
    this.#ledger.scale(gets.capacity)
    this.#considerAsking(now)
  }

  /** Records the totals before a child's new wants are entered. */
  #note(child: Child): void {
    this.#before.known = child.askedAt > Number.NEGATIVE_INFINITY
    this.#before.wants = this.#ledger.bands.wants
    this.#before.subclients = this.#ledger.bands.subclients
  }

  /**
   * The answer to a child whose wants have been entered. `claim`: its stated lease; `has`: the part of it that is still
   * valid. `outstanding` is the amount that a server promises not to exceed, `inUse` the amount that a client cannot
   * give up at once, even without a lease.
   */
  #decide(
    child: Child,
    claim: Lease | undefined,
    has: number,
    outstanding: number | undefined,
    now: number,
    inUse: number = 0,
  ): Lease {
    this.#asked++
    const ledger = this.#ledger
    const claims = claim !== undefined
    const leased = child.leased(now)
    const showsLast = child.isLast(claim)
    child.shows ||= claims
    const capacity = this.capacity(now)
    const reserve = this.#reserve.at(now)
    const goal = this.#upstream === undefined ? capacity : this.#upstream.target(now)
    const target = targetOf(this.#rules, ledger, child, Math.max(0, goal - reserve), this.#before)
    const free = this.#bounded ? capacity - reserve - (ledger.held - child.held) : Number.POSITIVE_INFINITY
    const mayUse = ledger.mayUse(child, now)
    const floor = outstanding === undefined ? 0 : showsLast ? Math.min(outstanding, leased) : mayUse
    this.#target = claims ? target : Math.max(target, floor)
    this.#share = capacity / Math.max(1, ledger.bands.subclients)

    const lease = this.#upstream?.lease(now)
    const end = Math.min(lease?.expiryTime ?? Number.POSITIVE_INFINITY, now + this.#rules.leaseLengthSeconds)
    let expiry = Math.floor(end)
    let granted: number
    const covered =
      (this.#upstream === undefined || lease !== undefined) && (outstanding === undefined || floor <= free)
    if (this.#rules.published && this.#reserve.learning(now)) granted = has
    else if (!covered) {
      // The old lease continues unchanged.
      granted = leased
      expiry = leased > 0 ? child.expiry : Math.floor(now)
    } else granted = grantOf(target, free, leased, floor)
    granted = roundDown(granted, ledger.unit)

    // A message frees capacity only if it shows the last grant. Any other may have been delayed for long, or its sender
    // has not received that grant yet: it may be using its earlier amount, or have promised more since. Peers that
    // never show a lease could free nothing: they are assumed to have received the previous answer.
    const believed = outstanding === undefined && child.instance === undefined && !child.shows ? leased : mayUse
    const shown = showsLast ? Math.min(roundUp(outstanding ?? has, ledger.unit), child.held) : believed
    const confirms = outstanding !== undefined || this.#rules.confirm
    ledger.answer(child, granted, Math.max(granted, confirms ? shown : 0, roundUp(inUse, ledger.unit)), expiry)
    ledger.holdUntil(child, expiry + GRACE_SECONDS)
    child.refreshSeconds = this.#refreshOf(child, target, expiry, now)
    ledger.watch(child)
    this.#considerAsking(now)
    const gets: Lease = { expiryTime: expiry, refreshInterval: child.refreshSeconds, capacity: granted }
    if (child.serial > 0) gets.serial = child.serial
    return gets
  }

  /**
   * A predecessor's grant counts as held. If the child states its lease, that stays valid until its end; otherwise it
   * has none, but the amount it has promised to others may last for a lease length. A lease that outlasts the reserve
   * shows that the predecessor's leases were longer.
   */
  #believe(child: Child, capacity: number, has: Lease | undefined, now: number): void {
    if (!this.#reserve.believes(now)) return
    const believed = has !== undefined && has.expiryTime - now <= BELIEVED_SECONDS ? has.expiryTime : 0
    this.#reserve.extend(believed, now)
    const longest = Math.max(Math.floor(now + this.#rules.leaseLengthSeconds), Math.floor(this.#reserve.until))
    const held = child.held + this.#reserve.claim(roundUp(capacity, this.#ledger.unit) - child.held)
    this.#ledger.hold(child, held)
    child.hadUntil = undefined
    if (has !== undefined) {
      this.#ledger.lease(child, Math.min(capacity, held))
      child.ends(Math.min(has.expiryTime, longest), has.serial)
    }
    this.#ledger.holdUntil(child, (has === undefined ? longest : child.expiry) + GRACE_SECONDS)
  }

  /** NO_ALGORITHM and STATIC at the root do not depend on the other children. */
  get #bounded(): boolean {
    return (
      this.#upstream !== undefined || this.#rules.kind === 'PROPORTIONAL_SHARE' || this.#rules.kind === 'FAIR_SHARE'
    )
  }

  #minimum(): number {
    return Math.min(this.#minimumSeconds, this.#rules.refreshSeconds)
  }

  #tooEarly(child: Child, now: number): boolean {
    return now - this.#ledger.askedAt(child) < this.#minimum() * PUNCTUAL
  }

  /** Requests wait at the child, its wants have changed, or it gives up an amount that it was asked for. */
  #isUrgent(child: Child, { wants, waiting = 0, inUse = 0, has }: ResourceRequest, now: number): boolean {
    if (now - this.#ledger.askedAt(child) < Math.min(this.#minimum(), URGENT_SECONDS) * PUNCTUAL) return false
    if (Math.abs(wants - child.wants) > MOVED * child.wants) return true
    if (waiting > 0 && child.granted < wants) return true
    return child.held > child.granted && Math.max(has?.capacity ?? 0, inUse) < child.held * (1 - SETTLED)
  }

  #refreshOf(child: Child, target: number, expiry: number, now: number): number {
    const { granted, held } = child
    const settled = Math.abs(granted - target) <= SETTLED * target && held - granted <= SETTLED * granted
    const shortest = Math.ceil(Math.max(1, this.#minimum()))
    let refresh = settled ? this.#rules.refreshSeconds : shortest
    if (this.#reserve.learning(now))
      refresh = Math.min(refresh, Math.max(shortest, Math.ceil(this.#reserve.until - now)))
    const room = expiry - Math.floor(now) - 1
    return room >= 1 ? Math.min(refresh, room) : shortest
  }

  #govern(rules: Rules): void {
    this.#rules = rules
    this.#ledger.govern(rules)
  }

  #standing(now: number): NodeDemand {
    const reserve = this.#reserve.at(now)
    return {
      outstanding: this.#ledger.held + reserve,
      wants: this.#ledger.bands.wants + reserve,
      alive: this.#ledger.size > 0,
    }
  }

  #considerAsking(now: number): void {
    if (this.#upstream !== undefined) this.#upstream.consider(this.#standing(now), now)
  }
}
