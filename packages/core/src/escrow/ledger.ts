import { Claims } from './claims.js'
import { Waits } from './waits.js'

/** How a tenant's claim on its guarantee ages: not at all, or with the window, as an even pace would use it up. */
export type Reserve = 'strict' | 'paced'

/** What becomes of a cost: allowed within the guarantee or by borrowing; or refused. */
export type Verdict = 'within' | 'borrows' | 'never' | 'exhausted' | 'over-share'

/** A wait ends this share of the window after the refusal; whoever is refused is told to come back in half of it. */
const WAIT = 1 / 10
const RETRY = 1 / 20
const LEAST_RETRY_MS = 1
/** The name of the tenant that all newcomers share once there are too many. No tenant's own name is empty. */
const OVERFLOW = ''
const NEWCOMER = -1
/** Tags this close are equal. */
const TIE = 1 + 1e-9
/** Levels this close are equal. */
const SAME = 1 - 1e-12

/**
 * Weighted fair escrow: the rule, in plain numbers. It knows no clock; times are handed in, and never run backwards.
 *
 * One budget, the limit L, is split in one window of time. Each active tenant has a weight w, what it used, and v: that
 * and what it let pass. W is the sum of weights, `left` is L less all that was used, τ the share of the window that is
 * over (0 where the reserve is strict).
 *
 * - The *level* λ is the highest, up to L/W, at which all claims fit into what is left. It is worked out when a tenant
 *   becomes active, when a weight or the limit changes, and when a cost is settled, and holds until then.
 * - A tenant's guarantee is g = w·λ, its *claim* what is left of that: g − max(v, g·τ), if above 0. What others may
 *   not touch is the sum of claims; the rest of `left` is free.
 * - Who is refused *waits*, for a tenth of a window at most, with the cost it was refused and the finish tag
 *   (v + cost)/w. If the guarantee would cover that cost, the claim is too small to be of use: it is released to others
 *   until the wait ends. Then it comes back as far as it is still free.
 * - A cost within the claim is allowed. More is allowed, as borrowed, if it is free and no one else who waits for what
 *   is there has a lower tag.
 *
 * To use it: {@link begin} a window, {@link advance} to the present, {@link reweigh} or leave it, {@link judge}, and
 * then {@link spend} or {@link refuse}, with nothing in between. The limit may change within a window
 * ({@link limitTo}), for whoever draws it from somewhere else bit by bit. All is O(log n) of the active tenants.
 *
 * Sums are compared to within a billionth of the limit (or a thousandth, if that is less); whole numbers are exact.
 */
export class Ledger {
  readonly windowMs: number
  readonly #reserve: Reserve
  readonly #maxTenants: number
  readonly #slots: Map<string, number> = new Map()
  readonly #claims: Claims = new Claims()
  readonly #waits: Waits = new Waits()
  #weights: Float64Array = new Float64Array(16)
  #useds: Float64Array = new Float64Array(16)
  #passed: Float64Array = new Float64Array(16)
  #released: Uint8Array = new Uint8Array(16)
  #startMs = 0
  #nowMs = 0
  #tau = 0
  #limit = 0
  #left = 0
  #weight = 0
  #level = 0
  #tolerance = 0

  // What was judged last.
  #slot: number = NEWCOMER
  #name = ''
  #cost = 0
  #newWeight = 0
  #newLevel = 0
  #verdict: Verdict = 'never'
  #guarantee = 0
  #remaining = 0
  #retryMs = 0

  constructor(windowMs: number, reserve: Reserve, maxTenants: number) {
    this.windowMs = windowMs
    this.#reserve = reserve
    this.#maxTenants = maxTenants
  }

  get startMs(): number {
    return this.#startMs
  }

  get limit(): number {
    return this.#limit
  }

  /** The limit less all that was used. */
  get left(): number {
    return this.#left
  }

  /** The sum of the weights of the active. */
  get weight(): number {
    return this.#weight
  }

  /** What a weight of 1 is guaranteed; 0 while nobody is active. */
  get level(): number {
    return this.#level
  }

  /** Active tenants, the shared one among them. */
  get tenants(): number {
    return this.#slots.size
  }

  get waiting(): number {
    return this.#waits.count
  }

  /** All claims now: what is left and not free. */
  get claimed(): number {
    return this.#claims.total(this.#level, this.#tau)
  }

  /** Of what was judged last: the verdict, the tenant's guarantee, */
  get verdict(): Verdict {
    return this.#verdict
  }

  get guarantee(): number {
    return this.#guarantee
  }

  /** what it will have used, */
  get used(): number {
    const used = this.#slot === NEWCOMER ? 0 : this.#useds[this.#slot]!
    return this.#isAllowed ? used + this.#cost : used
  }

  /** the most that it could ask for next and would get (or a little less, within the guarantee), */
  get remaining(): number {
    return this.#remaining
  }

  /** and in how long it is worth asking again: 0 if allowed, Infinity if never. */
  get retryMs(): number {
    return this.#retryMs
  }

  /** Starts a window: nobody is active. */
  begin(startMs: number, limit: number): void {
    this.#slots.clear()
    this.#claims.clear()
    this.#waits.clear()
    this.#startMs = startMs
    this.#nowMs = startMs
    this.#tau = 0
    this.#limit = limit
    this.#left = limit
    this.#weight = 0
    this.#level = 0
    this.#tolerance = Math.min(1e-3, 1e-9 * limit)
  }

  /** Moves on to `nowMs`, inside the window; an earlier time changes nothing. Waits end on the way, each at its time. */
  advance(nowMs: number): void {
    const waits = this.#waits
    while (waits.count > 0) {
      const endMs = waits.sinceMs(waits.first) + this.windowMs * WAIT
      if (endMs > nowMs) break
      this.#moveTo(endMs)
      this.#endWait(waits.first)
    }
    this.#moveTo(nowMs)
  }

  /** Sets another limit for the rest of the window. What was used stays used: less than that leaves nothing. */
  limitTo(limit: number): void {
    this.#left += limit - this.#limit
    this.#limit = limit
    this.#tolerance = Math.min(1e-3, 1e-9 * limit)
    this.#refit()
  }

  /** Gives an active tenant another weight. Nothing for one that is not active, nor for the shared one. */
  reweigh(tenant: string, weight: number): void {
    const slot = this.#slots.get(tenant)
    if (slot === undefined || this.#weights[slot] === weight) return
    this.#setWeight(slot, weight)
    this.#refit()
  }

  /** As {@link reweigh} and {@link judge}, and changes nothing. */
  peek(tenant: string, weight: number, cost: number): Verdict {
    const slot = this.#slots.get(tenant)
    const before = slot === undefined ? weight : this.#weights[slot]!
    if (slot === undefined || before === weight) return this.judge(tenant, weight, cost)
    const { level, weight: total } = this
    this.reweigh(tenant, weight)
    this.judge(tenant, weight, cost)
    this.#setWeight(slot, before)
    this.#weight = total
    this.#level = level
    return this.#verdict
  }

  /**
   * Judges a `cost` of `tenant`, and changes nothing. One that is not active is judged as if it were, with `weight`;
   * once there are as many as may be, as part of the tenant that all further ones share, of weight 1.
   */
  judge(tenant: string, weight: number, cost: number): Verdict {
    this.#find(tenant)
    this.#cost = cost
    const slot = this.#slot
    const isNew = slot === NEWCOMER
    const tau = this.#tau
    const left = this.#left
    if (isNew) {
      const total = this.#weight + (this.#newWeight = this.#name === OVERFLOW ? 1 : weight)
      this.#newLevel = this.#claims.highest(this.#limit / total, tau, Math.max(0, left), this.#newWeight, this.#slack)
    }
    const level = isNew ? this.#newLevel : this.#level
    const own = isNew ? this.#newWeight : this.#weights[slot]!
    const guarantee = own * level
    const passed = isNew ? guarantee * tau : this.#passed[slot]!
    const released = !isNew && this.#released[slot] === 1
    const claim = released ? 0 : Math.max(0, guarantee - Math.max(passed, guarantee * tau))
    this.#guarantee = guarantee
    const isShort = !this.#covers(left, cost)
    if (!isShort && cost <= this.#limit && this.#covers(claim, cost)) {
      this.#remaining = Math.max(0, claim - cost)
      this.#retryMs = 0
      this.#verdict = 'within'
      return 'within'
    }
    const counted = isNew ? 0 : claim
    const free = Math.max(0, left - (this.#claims.total(level, tau) - counted))
    const leastTag = this.#waits.leastTag(left, slot)
    const isTurn = (passed + cost) / own <= leastTag * TIE
    const mayBorrow = !isNew || level * (this.#weight + own) >= this.#limit * SAME
    const borrowable = mayBorrow ? Math.max(0, Math.min(free, leastTag * own - passed)) : 0
    if (!isShort && isTurn && mayBorrow && cost <= this.#limit && this.#covers(free, cost)) {
      // A released claim comes back, as far as it is free.
      const back = released ? Math.min(free - cost, guarantee - Math.max(passed + cost, guarantee * tau)) : 0
      this.#remaining = Math.max(0, back, borrowable - cost)
      this.#retryMs = 0
      this.#verdict = 'borrows'
      return 'borrows'
    }
    this.#verdict = cost > this.#limit ? 'never' : isShort ? 'exhausted' : 'over-share'
    this.#remaining = Math.max(this.#verdict !== 'never' && this.#wouldCover(cost) ? 0 : claim, borrowable)
    const endMs = Math.max(0, this.#startMs + this.windowMs - this.#nowMs)
    let waitMs = Math.min(endMs, this.windowMs * RETRY)
    if (this.#verdict === 'never') waitMs = Number.POSITIVE_INFINITY
    else if (!this.#covers(left, this.#tolerance)) waitMs = endMs
    else if (!isShort && isTurn && mayBorrow && this.#reserve === 'paced') {
      const latest = Math.min(1, tau + RETRY)
      const inRanking = isNew || released ? 0 : own
      const at = this.#claims.fadedBy(level, tau, latest, left - cost, inRanking, passed)
      if (at < latest) waitMs = Math.min(waitMs, this.#startMs + at * this.windowMs - this.#nowMs)
    }
    this.#retryMs = Math.max(LEAST_RETRY_MS, waitMs)
    return this.#verdict
  }

  /** Spends what was just judged and allowed; returns the tenant's slot, which is its own until the next window. */
  spend(): number {
    const cost = this.#cost
    const slot = this.#slot === NEWCOMER ? this.#open() : this.#slot
    const passed = this.#passed[slot]!
    const released = this.#released[slot] === 1
    this.#passed[slot] = (released ? passed : Math.max(passed, this.#guarantee * this.#tau)) + cost
    this.#useds[slot]! += cost
    this.#left -= cost
    if (!released) this.#claims.set(slot, this.#weights[slot]!, this.#passed[slot]!)
    if (this.#waits.has(slot)) this.#endWait(slot)
    return slot
  }

  /** Notes that what was just judged was refused: an active tenant waits, unless its cost is above the limit. */
  refuse(): void {
    const slot = this.#slot
    if (slot === NEWCOMER || this.#verdict === 'never') return
    this.#waits.add(slot, (this.#passed[slot]! + this.#cost) / this.#weights[slot]!, this.#cost, this.#nowMs)
    if (this.#released[slot] === 1 || !this.#wouldCover(this.#cost)) return
    this.#released[slot] = 1
    this.#claims.drop(slot)
  }

  /**
   * Charges the tenant at `slot` more (or less, if below 0) than it was admitted with. Returns what could not be
   * charged because nothing is left. It never takes off more than was used.
   */
  settle(slot: number, change: number): number {
    const charged = Math.max(-this.#useds[slot]!, Math.min(change, Math.max(0, this.#left)))
    this.#useds[slot]! += charged
    this.#left -= charged
    this.#setPassed(slot, Math.max(0, this.#passed[slot]! + charged))
    this.#refit()
    return change - charged
  }

  /** The active tenants, in no order, `''` being the shared one. For people: allocates. */
  *each(): Generator<LedgerEntry> {
    for (const [tenant, slot] of this.#slots)
      yield {
        tenant,
        weight: this.#weights[slot]!,
        used: this.#useds[slot]!,
        guarantee: this.#weights[slot]! * this.#level,
        waiting: this.#waits.has(slot),
      }
  }

  get #isAllowed(): boolean {
    return this.#verdict === 'within' || this.#verdict === 'borrows'
  }

  /** How exact a level needs to be: well below the tolerance. */
  get #slack(): number {
    return this.#tolerance / 1e3
  }

  /** Whether `room` is enough for `cost`. What is next to nothing is not covered by nothing. */
  #covers(room: number, cost: number): boolean {
    return cost <= room + Math.min(this.#tolerance, cost / 2)
  }

  /** Whether the whole guarantee of what is being judged would have been enough. */
  #wouldCover(cost: number): boolean {
    return cost <= this.#guarantee + this.#tolerance
  }

  /** The slot of a tenant, or that of the one which it shares. */
  #find(tenant: string): void {
    let slot = this.#slots.get(tenant)
    this.#name = tenant
    if (slot === undefined && this.#slots.size >= this.#maxTenants - 1) {
      const shared = this.#slots.get(OVERFLOW)
      if (this.#slots.size - (shared === undefined ? 0 : 1) >= this.#maxTenants - 1) {
        slot = shared
        this.#name = OVERFLOW
      }
    }
    this.#slot = slot ?? NEWCOMER
  }

  /** Makes the newcomer that was judged active. */
  #open(): number {
    const slot = this.#slots.size
    if (slot === this.#weights.length) this.#grow(2 * slot)
    this.#slots.set(this.#name, slot)
    this.#weights[slot] = this.#newWeight
    this.#useds[slot] = 0
    this.#passed[slot] = 0
    this.#released[slot] = 0
    this.#weight += this.#newWeight
    this.#level = this.#newLevel
    return slot
  }

  #moveTo(nowMs: number): void {
    if (nowMs <= this.#nowMs) return
    this.#nowMs = nowMs
    if (this.#reserve === 'paced') this.#tau = Math.min(1, (nowMs - this.#startMs) / this.windowMs)
  }

  #refit(): void {
    if (this.#weight === 0) return
    const ceiling = this.#limit / this.#weight
    this.#level = this.#claims.highest(ceiling, this.#tau, Math.max(0, this.#left), 0, this.#slack)
  }

  #endWait(slot: number): void {
    this.#waits.end(slot)
    if (this.#released[slot] === 0) return
    this.#released[slot] = 0
    const free = Math.max(0, this.#left - this.claimed)
    const guarantee = this.#weights[slot]! * this.#level
    if (guarantee - Math.max(this.#passed[slot]!, guarantee * this.#tau) > free)
      this.#passed[slot] = guarantee - free
    this.#claims.set(slot, this.#weights[slot]!, this.#passed[slot]!)
  }

  #setWeight(slot: number, weight: number): void {
    this.#weight += weight - this.#weights[slot]!
    this.#weights[slot] = weight
    this.#setPassed(slot, this.#passed[slot]!)
  }

  #setPassed(slot: number, passed: number): void {
    const weight = this.#weights[slot]!
    this.#passed[slot] = passed
    if (this.#released[slot] === 0) this.#claims.set(slot, weight, passed)
    if (this.#waits.has(slot)) this.#waits.retag(slot, (passed + this.#waits.cost(slot)) / weight)
  }

  #grow(length: number): void {
    const wider = (from: Float64Array): Float64Array => {
      const to = new Float64Array(length)
      to.set(from)
      return to
    }
    this.#weights = wider(this.#weights)
    this.#useds = wider(this.#useds)
    this.#passed = wider(this.#passed)
    const released = new Uint8Array(length)
    released.set(this.#released)
    this.#released = released
  }
}

/** An active tenant, as plain JSON. */
export interface LedgerEntry {
  readonly tenant: string
  readonly weight: number
  readonly used: number
  readonly guarantee: number
  /** Refused lately, and not answered otherwise since. */
  readonly waiting: boolean
}
