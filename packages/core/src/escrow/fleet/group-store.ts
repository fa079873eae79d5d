import type { Clock } from '../../clock.js'
import { andThen, type NowOrLater } from '../../rejection.js'
import type { LeasedTicket } from './options.js'
import type { PoolMember } from './pool-member.js'
import { fuzzOf, type LeaseAnswer, type LeaseCall, type PoolStore, PoolStoreError, type TenantReport } from './store.js'

/** The last call, and the amount taken from above for it. */
interface Taken {
  readonly seq: number
  readonly amount: NowOrLater<number>
}

/** The answer of the pool above about the group. */
interface Prospect {
  readonly win: number
  readonly atMs: number
  /** Total that it may use, if others in line there get the same per weight. */
  readonly limit: number
  /** The remainder there that is not reserved for others. */
  readonly room: number
}

/**
 * Part of a window after which an answer may be outdated: it is requested again, and a refused tenant may ask again.
 */
const WHILE = 0.05

const NOTHING: Taken = { seq: 0, amount: 0 }

/**
 * The pool of a group in a tree: an ordinary pool, whose budget comes from the pool above. Credit for a tenant of the
 * group is first drawn from above, where the group is a tenant among its siblings. So both rules have to allow it, and
 * all groups together never get more than the budget. The group's limit is its use plus the amount that it could still
 * get.
 *
 * Credit that was drawn but not granted, and credit that its member returns, is returned above.
 */
export class GroupStore implements PoolStore {
  readonly #store: PoolStore
  readonly #above: PoolMember
  readonly #group: string
  readonly #clock: Clock
  /** Credit of the window that was taken from above, and the last decision about it. */
  #out = 0
  #win = -1
  #ticket: LeasedTicket | undefined
  /** The window of the last credit taken. */
  #takenOf = -1
  /** Why less than the requested amount could be taken, and until when. */
  #refusedMs = 0
  #last: Taken = NOTHING

  #prospect: Prospect | undefined
  /** Time at which the pool above was told that the group is in line. */
  #queuedMs = Number.NEGATIVE_INFINITY

  constructor(store: PoolStore, above: PoolMember, group: string, clock: Clock) {
    this.#store = store
    this.#above = above
    this.#group = group
    this.#clock = clock
    above.groups.listen(group, ({ weight }, { win, shares, used, grant, room, turn }) => {
      const inAll = used[0]! / shares[0]! + grant
      this.#prospect = { win, atMs: clock(), limit: Math.min(inAll + room, turn * weight), room }
    })
  }

  lease(call: LeaseCall): NowOrLater<LeaseAnswer> {
    return andThen(this.#takeFor(call), (amount) => this.#ask(call, amount))
  }

  /** A repeated call continues with the amount taken for it before: the store may have executed it already. */
  #takeFor(call: LeaseCall): NowOrLater<number> {
    this.#moveOn()
    // The missing amount comes with the next call to the pool above, which may be one for this.
    this.#promise(call)
    if (call.seq === this.#last.seq) return this.#last.amount
    this.#giveBack((call.win === this.#win ? this.#out : 0) - call.holds)
    const amount = call.need > 0 ? this.#take(call.need, call.pool.quantum) : 0
    const taken = { seq: call.seq, amount }
    this.#last = taken
    if (amount instanceof Promise)
      amount.catch(() => {
        if (this.#last === taken) this.#last = NOTHING
      })
    return amount
  }

  /** Takes the need, and up to a quantum of credit that others above will not spend until there is more. */
  #take(need: number, quantum: number): NowOrLater<number> {
    const check = (cost: number) => this.#above.check(this.#group, cost) as NowOrLater<LeasedTicket>
    return andThen(check(need), (decision) => {
      const amount = this.#book(decision)
      const rest = Math.min(quantum - need, decision.remaining, this.#above.besides)
      if (amount === 0 || rest <= fuzzOf(quantum)) return amount
      return andThen(check(rest), (more) => amount + this.#book(more))
    })
  }

  #book(decision: LeasedTicket): number {
    if (decision.reason === 'store-error') {
      if (decision.allowed) this.#above.giveBack(decision, decision.cost)
      const { kind, message, cause } = this.#above.failure ?? { kind: 'other', message: 'no store', cause: undefined }
      throw new PoolStoreError(kind, message, { cause })
    }
    this.#refusedMs = decision.retryAfterMs
    if (!decision.allowed) return 0
    this.#moveOn()
    this.#out += decision.cost
    this.#ticket = decision
    this.#takenOf = this.#win
    return decision.cost
  }

  /** Moves to the window of the pool above, with the amount promised of it. */
  #moveOn(): void {
    const begun = this.#above.groups.begunWith(this.#group)
    const { win } = this.#above
    if (win === this.#win) return
    this.#win = win
    this.#ticket = begun
    this.#out = begun?.reserved ?? 0
  }

  /** The amount that the group may hold of the next window. */
  #promise({ win, ahead = 0, wants = 0 }: LeaseCall): number {
    return this.#above.groups.promise(this.#group, win, ahead, wants)
  }

  #giveBack(amount: number): void {
    if (amount <= 0 || this.#ticket === undefined) return
    this.#out -= amount
    this.#above.giveBack(this.#ticket, amount)
  }

  #ask(call: LeaseCall, amount: number): NowOrLater<LeaseAnswer> {
    const isOld = this.#clock() - (this.#inWindow?.atMs ?? Number.NEGATIVE_INFINITY) >= call.pool.windowMs * WHILE
    const looked = call.need > 0 && isOld ? this.#look(call.need) : undefined
    return andThen(looked, () => this.#lease(call, amount))
  }

  #lease(call: LeaseCall, amount: number): NowOrLater<LeaseAnswer> {
    const { pool, need, tenants } = call
    const { limit: most, room } = this.#inWindow ?? { limit: pool.limit, room: pool.limit }
    const limit = Math.max(most, fuzzOf(pool.limit))
    const quantum = Math.min(pool.quantum, amount || pool.quantum, limit)
    const isRefused = need > 0 && amount < need
    // A tenant that gets nothing from above is in line nevertheless.
    const waits = tenants.map((tenant, at) => (at === 0 ? { ...tenant, ask: need } : tenant))
    const said = isRefused ? { need: 0, tenants: waits } : {}
    const wants = this.#promise(call)
    const terms = { ...pool, limit, quantum }
    const answer = this.#store.lease({ ...call, pool: terms, left: amount + room, wants, ...said })
    return andThen(answer, (granted) => {
      const ahead = Math.min(granted.ahead, wants)
      return this.#finish(call, { ...granted, ahead }, isRefused, amount)
    })
  }

  #finish(call: LeaseCall, answer: LeaseAnswer, isRefused: boolean, amount: number): LeaseAnswer {
    // The pool above may have more before the time that it stated; it decides there whether to ask again.
    if (isRefused) return { ...answer, waitMs: Math.min(this.#refusedMs, call.pool.windowMs * WHILE) }
    if (call.need === 0) return answer
    if (answer.grant === 0) this.#queue(call)
    if (call.seq !== this.#last.seq) return { ...answer, grant: 0 }
    // A call that was sent twice is answered twice: the excess is returned once.
    const taken = typeof this.#last.amount === 'number' ? this.#last.amount : amount
    // Credit taken in another window is void; the group's pool learns of it with the next call.
    const isBacked = answer.win === this.#takenOf
    const grant = isBacked ? Math.min(answer.grant, taken) : 0
    this.#giveBack(isBacked && answer.win === this.#win ? taken - grant : 0)
    this.#last = { seq: call.seq, amount: grant }
    return { ...answer, grant }
  }

  /** A tenant that the group's pool refuses waits; so the group does above. */
  #queue({ need, pool }: LeaseCall): void {
    const nowMs = this.#clock()
    this.#above.note(this.#group, need, true)
    if (nowMs - this.#queuedMs < pool.windowMs * WHILE) return
    this.#queuedMs = nowMs
    void this.#above.tell(this.#group)
  }

  #look(need: number): NowOrLater<void> {
    this.#above.note(this.#group, need, false)
    return this.#above.tell(this.#group)
  }

  get #inWindow(): Prospect | undefined {
    return this.#prospect?.win === this.#above.win ? this.#prospect : undefined
  }
}

/** Receives each answer to a call that asks, first of all, for a group. */
type Listener = (report: TenantReport, answer: LeaseAnswer) => void

/** A group's holding of a member's credit. */
interface ChildGroup {
  /** Credit of the next window that it wants to hold. */
  wants: number
  /** The promised part of that. */
  promised: number
  /** The amount promised of this window, spent for it when the window began. */
  begun: LeasedTicket | undefined
}

/** The member's account with its own pool: its window, and its credit of the next one. */
interface HeldCredit {
  readonly win: number
  readonly ahead: number
}

/**
 * The groups below a member of a pool, which are tenants there, and their holdings of its next window.
 *
 * A group draws ahead for its own tenants, from the credit that this member has drawn ahead: that is promised to the
 * group, is not returned, and is spent for the group as soon as this member begins the next window. So each level of a
 * tree draws ahead from the one above as a flat pool does, and all together never more than the root has drawn.
 */
export class ChildGroups {
  readonly #listeners: Map<string, Listener> = new Map()
  readonly #children: Map<string, ChildGroup> = new Map()
  readonly #standing: () => HeldCredit
  readonly #spend: (group: string, amount: number) => LeasedTicket
  /** The window in which promises were made; they apply to the next one. */
  #win = -1
  /** Promises to be spent, because their window has begun. */
  #due: [group: string, amount: number][] = []

  /** `standing` returns an updated account; `spend` spends credit of the present window for a group. */
  constructor(standing: () => HeldCredit, spend: (group: string, amount: number) => LeasedTicket) {
    this.#standing = standing
    this.#spend = spend
  }

  /** From now on `hear` receives each answer to a call that asks, first of all, for this group. */
  listen(group: string, hear: Listener): void {
    this.#listeners.set(group, hear)
  }

  hear(report: TenantReport, answer: LeaseAnswer): void {
    this.#listeners.get(report.tenant)?.(report, answer)
  }

  /** Total promised to all groups of the next window. */
  get promised(): number {
    let sum = 0
    for (const { promised } of this.#children.values()) sum += promised
    return sum
  }

  /** Total that all groups want of the next window, or were promised. */
  get wanted(): number {
    let sum = 0
    for (const { wants, promised } of this.#children.values()) sum += Math.max(wants, promised)
    return sum
  }

  /**
   * The amount that a group may hold of the window after `win`: its wish, as far as this member has credit of that
   * window; it already holds `holds`. The member's next call asks for the missing amount.
   */
  promise(group: string, win: number, holds: number, wants: number): number {
    const { win: own, ahead } = this.#standing()
    if (win !== own) return holds
    if (wants <= 0 && !this.#children.has(group)) return 0
    const child = this.#childOf(group)
    this.#win = win
    child.wants = wants
    child.promised = Math.max(holds, Math.min(wants, ahead - (this.promised - child.promised)))
    return child.promised
  }

  /** The amount spent for a group from its promise when this window began. */
  begunWith(group: string): LeasedTicket | undefined {
    this.#standing()
    return this.#children.get(group)?.begun
  }

  /** The window `win` begins. */
  begin(win: number): void {
    this.#due = []
    for (const [group, { promised }] of this.#children)
      if (promised > 0 && win === this.#win + 1) this.#due.push([group, promised])
    this.#children.clear()
  }

  /** Spends the promises of the present window, once. */
  keep(): void {
    if (this.#due.length === 0) return
    const due = this.#due
    this.#due = []
    for (const [group, amount] of due) this.#childOf(group).begun = this.#spend(group, amount)
  }

  #childOf(group: string): ChildGroup {
    let child = this.#children.get(group)
    if (child === undefined) {
      child = { wants: 0, promised: 0, begun: undefined }
      this.#children.set(group, child)
    }
    return child
  }
}
