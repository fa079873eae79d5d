import { Bands } from './bands.js'
import { Bucket, Child } from './child.js'
import { ExpiryWheel } from './expiry-wheel.js'
import { exponentOf, roundUp } from './grid.js'
import type { Rules } from './rules.js'

/**
 * Who has asked for a resource, what they want and what they may still be using. Times are seconds since the epoch,
 * and are handed in.
 */
export class Ledger {
  #rules: Rules
  #bands: Bands
  readonly #clients = new Map<string, Child>()
  readonly #servers = new Map<string, Child>()
  readonly #wheel = new ExpiryWheel<Child>()
  #now = 0
  #held = 0
  #exponent: number
  #unit: number

  constructor(rules: Rules, capacity: number) {
    this.#rules = rules
    this.#bands = new Bands(rules.minimumShares, rules.headroom)
    this.#exponent = exponentOf(capacity)
    this.#unit = 2 ** this.#exponent
  }

  /** What all may still be using. */
  get held(): number {
    return this.#held
  }

  get bands(): Bands {
    return this.#bands
  }

  /** What is granted and held comes in multiples of this. */
  get unit(): number {
    return this.#unit
  }

  get size(): number {
    return this.#clients.size + this.#servers.size
  }

  find(id: string, isServer: boolean): Child | undefined {
    return (isServer ? this.#servers : this.#clients).get(id)
  }

  add(id: string, isServer: boolean): Child {
    const child = new Child(id, isServer)
    ;(isServer ? this.#servers : this.#clients).set(id, child)
    return child
  }

  remove(child: Child): void {
    for (const bucket of child.buckets) this.#bands.leave(bucket)
    child.buckets = []
    this.hold(child, 0)
    this.#wheel.forget(child)
    ;(child.isServer ? this.#servers : this.#clients).delete(child.id)
  }

  *children(): Generator<Child> {
    yield* this.#servers.values()
    yield* this.#clients.values()
  }

  /** Writes down what a client wants, and that it has been heard of. O(log n), O(1) when it is the same as before. */
  enterClient(child: Child, priority: number, mass: number, wants: number, now: number): void {
    const bucket = child.buckets[0]
    if (bucket === undefined || bucket.priority !== priority || child.silent) {
      this.enter(child, [new Bucket(priority, 1, mass, wants)], now)
      return
    }
    child.askedAt = now
    if (bucket.wants === wants && bucket.mass === mass) return
    bucket.mass = mass
    bucket.wants = wants
    child.wants = wants
    this.#bands.change(bucket, wants)
  }

  /** Writes down what a child wants, and that it has been heard of. */
  enter(child: Child, buckets: readonly Bucket[], now: number): void {
    child.askedAt = now
    if (!child.silent && same(child.buckets, buckets)) return
    for (const bucket of child.buckets) this.#bands.leave(bucket)
    child.buckets = buckets
    child.silent = false
    child.wants = 0
    child.subclients = 0
    for (const bucket of buckets) {
      child.wants += bucket.wants
      child.subclients += bucket.subclients
      this.#bands.enter(bucket, bucket.wants, this.#priorityOf(bucket))
    }
  }

  /** From now on, and until `heldUntil`, this is what the child may be using. */
  hold(child: Child, held: number): void {
    this.#held += held - child.held
    child.held = held
  }

  /** The child's times have changed. */
  watch(child: Child): void {
    this.#wheel.schedule(child, this.#wakeOf(child))
  }

  /** Lets go what has run out. O(1) per child and lease. */
  advance(now: number): void {
    if (now <= this.#now) return
    this.#now = now
    this.#wheel.advance(Math.floor(now), (child) => this.#wake(child, now))
  }

  /** The capacity has changed: its unit follows from far. O(n) when it does. */
  scale(capacity: number): void {
    const exponent = exponentOf(capacity, this.#exponent)
    if (exponent === this.#exponent) return
    this.#exponent = exponent
    this.#unit = 2 ** exponent
    this.#held = 0
    for (const child of this.children()) {
      child.held = roundUp(child.held, this.#unit)
      this.#held += child.held
    }
  }

  /** Other rules hold from now on. O(n log n). */
  govern(rules: Rules): void {
    this.#rules = rules
    this.#bands = new Bands(rules.minimumShares, rules.headroom)
    for (const child of this.children()) {
      for (const bucket of child.buckets) this.#bands.enter(bucket, bucket.counted, this.#priorityOf(bucket))
      this.watch(child)
    }
  }

  /** Only our FAIR_SHARE knows priorities. */
  #priorityOf(bucket: Bucket): number {
    return this.#rules.kind === 'FAIR_SHARE' && !this.#rules.published ? bucket.priority : 0
  }

  #wake(child: Child, now: number): void {
    if (child.held > 0 && child.heldUntil <= now) this.hold(child, 0)
    if (child.held === 0 && child.askedAt + this.#rules.leaseLengthSeconds <= now) {
      this.remove(child)
      return
    }
    if (now > child.askedAt + 2 * child.refreshSeconds) this.#silence(child)
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
    if (!child.silent) second = Math.min(second, Math.floor(child.askedAt + 2 * child.refreshSeconds) + 1)
    return second
  }
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
