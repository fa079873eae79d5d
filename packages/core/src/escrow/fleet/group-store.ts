import type { Clock } from '../../clock.js'
import type { LeasedTicket } from './options.js'
import type { PoolMember } from './pool-member.js'
import { fuzzOf, type LeaseAnswer, type LeaseCall, type PoolStore, PoolStoreError } from './store.js'

/** The last call, and the amount taken from above for it. */
interface Taken {
  readonly seq: number
  readonly amount: number | Promise<number>
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

  lease(call: LeaseCall): LeaseAnswer | Promise<LeaseAnswer> {
    const taken = this.#takeFor(call)
    return taken instanceof Promise ? taken.then((amount) => this.#ask(call, amount)) : this.#ask(call, taken)
  }

  /** A repeated call continues with the amount taken for it before: the store may have executed it already. */
  #takeFor(call: LeaseCall): number | Promise<number> {
    this.#moveOn()
    // The missing amount comes with the next call to the pool above, which may be one for this.
    this.#promise(call)
    if (call.seq === this.#last.seq) return this.#last.amount
    this.#giveBack(this.#outIn(call.win) - call.holds)
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
  #take(need: number, quantum: number): number | Promise<number> {
    const first = this.#above.check(this.#group, need) as LeasedTicket | Promise<LeasedTicket>
    const more = (decision: LeasedTicket): number | Promise<number> => {
      const amount = this.#book(decision)
      const rest = Math.min(quantum - need, decision.remaining, this.#above.besides)
      if (amount === 0 || rest <= fuzzOf(quantum)) return amount
      const second = this.#above.check(this.#group, rest) as LeasedTicket | Promise<LeasedTicket>
      return second instanceof Promise ? second.then((late) => amount + this.#book(late)) : amount + this.#book(second)
    }
    return first instanceof Promise ? first.then(more) : more(first)
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

  #outIn(win: number): number {
    return win === this.#win ? this.#out : 0
  }

  #giveBack(amount: number): void {
    if (amount <= 0 || this.#ticket === undefined) return
    this.#out -= amount
    this.#above.giveBack(this.#ticket, amount)
  }

  #ask(call: LeaseCall, amount: number): LeaseAnswer | Promise<LeaseAnswer> {
    const isOld = this.#clock() - (this.#inWindow?.atMs ?? Number.NEGATIVE_INFINITY) >= call.pool.windowMs * WHILE
    const looked = call.need > 0 && isOld ? this.#look(call.need) : undefined
    return looked instanceof Promise ? looked.then(() => this.#lease(call, amount)) : this.#lease(call, amount)
  }

  #lease(call: LeaseCall, amount: number): LeaseAnswer | Promise<LeaseAnswer> {
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
    const finish = (granted: LeaseAnswer): LeaseAnswer => {
      const ahead = Math.min(granted.ahead, wants)
      return this.#finish(call, { ...granted, ahead }, isRefused, amount)
    }
    return answer instanceof Promise ? answer.then(finish) : finish(answer)
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

  #look(need: number): void | Promise<void> {
    this.#above.note(this.#group, need, false)
    return this.#above.tell(this.#group)
  }

  get #inWindow(): Prospect | undefined {
    return this.#prospect?.win === this.#above.win ? this.#prospect : undefined
  }
}
