import { DemandSplit } from './demand-split.js'
import { claimOf, claimsAt, levelOf } from './level.js'
import type { LeaseAnswer, LeaseCall } from './store.js'

/** What the pool remembers of a member until the window ends. */
interface Member {
  weight: number
  /** The part of the window that was over at its last call. */
  seen: number
  granted: number
  /** Last call, and what it was answered. */
  seq: number
  grant: number
  held: number
  waitMs: number
  /** The need it was refused, and until when it waits with that. */
  ask: number
  askUntilMs: number
}

/**
 * Who is refused is told to come back after one of these parts of a window: soon if whole quanta are about to become
 * free, as silent members let theirs pass; late if nothing is. It keeps its turn for that long, and WAIT more.
 */
const SHORTEST_WAIT = 1 / 32
const WAIT = 1 / 20
const LONGEST_WAIT = 1 / 5

/** What may be granted out of turn, in quanta: no less, or a fleet that pauses would call for crumbs. */
const LOANS = [1, 1 / 2, 1 / 4]

/** What tenants ask for in the first part of a window counts as if it took that long. */
const FIRST_LOOK = 1 / 100

/**
 * The pool: one budget per window, from which members draw credit by weighted max-min, whole quanta at a time.
 *
 * A member is guaranteed its weight's share of the limit, and its claim to that fades evenly as the window passes; what
 * nobody claims goes to whoever asks, but for what is owed to those who wait and were granted less per weight. It is
 * the rule of one process with members for tenants, quanta for costs. Pure: told the time, by the store.
 *
 * Credit never exceeds the limit, whatever members say, whichever calls are lost, late or repeated: an earlier call
 * than the last changes nothing, and credit comes back only in its own window. A member that was answered in this
 * window, and is not known, proves that the store has lost its memory; so does one that was answered in the window
 * before, where nobody is known and the store began to remember in this window. Then nothing more is granted until the
 * window ends, because what was granted before is unknown.
 *
 * O(members) a call.
 */
export class Pool {
  /** The window, and the latest time seen: time that goes back is no time passed. */
  #win = -1
  #nowMs: number = Number.NEGATIVE_INFINITY
  /** Credit granted to all members together. */
  #granted = 0
  readonly #members: Map<string, Member> = new Map()
  readonly #split: DemandSplit = new DemandSplit()
  readonly #bornMs: number

  /** `bornMs` is when the store began to remember. */
  constructor(bornMs: number) {
    this.#bornMs = bornMs
  }

  /** Answers a call that was checked before. `nowMs` is the time by which windows are told, not negative. */
  lease(call: LeaseCall, nowMs: number): LeaseAnswer {
    const { limit, windowMs } = call.pool
    const fresh = this.#nowMs === Number.NEGATIVE_INFINITY
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    const win = Math.floor(this.#nowMs / windowMs)
    if (win > this.#win) this.#begin(win)
    let member = this.#members.get(call.member)
    if (member === undefined) {
      const wasThere = call.win >= 0 && call.win >= win - 1
      if (call.win === win || (fresh && wasThere && this.#bornMs > win * windowMs)) this.#granted = limit
      member = { weight: 0, seen: FIRST_LOOK, granted: 0, seq: 0, grant: 0, held: 0, waitMs: 0, ask: 0, askUntilMs: 0 }
      this.#members.set(call.member, member)
    }
    if (call.seq >= member.seq) member.seen = Math.max(FIRST_LOOK, (this.#nowMs - win * windowMs) / windowMs)
    if (call.seq >= member.seq && call.tenants !== undefined)
      for (const tenant of call.tenants) this.#split.report(member, tenant)
    if (call.seq > member.seq) {
      member.seq = call.seq
      this.#take(member, call)
      this.#answer(member, call)
    }
    return {
      win,
      leftMs: (win + 1) * windowMs - this.#nowMs,
      grant: call.seq === member.seq ? member.grant : 0,
      held: member.held,
      waitMs: member.waitMs,
      shares: this.#shares(member, call),
    }
  }

  #begin(win: number): void {
    this.#win = win
    this.#granted = 0
    this.#members.clear()
    this.#split.clear()
  }

  /** Takes in the member's weight, and what it hands back. */
  #take(member: Member, { tenants, weight, win, back }: LeaseCall): void {
    if (tenants === undefined) member.weight = weight
    if (win !== this.#win) return
    const returned = Math.min(back, member.granted)
    member.granted -= returned
    this.#granted -= returned
  }

  #answer(member: Member, { pool, need }: LeaseCall): void {
    const { limit, windowMs, quantum } = pool
    const members = [...this.#members.values()]
    let weights = 0
    for (const { weight } of members) weights += weight
    const elapsed = (this.#nowMs - this.#win * windowMs) / windowMs
    const left = Math.max(0, limit - this.#granted)
    const most = weights > 0 ? limit / weights : 0
    const level = levelOf(members, most, left, elapsed)
    const claim = claimOf(member, level, elapsed)
    const free = left - (claimsAt(members, level, elapsed) - claim)
    const fuzz = Math.min(1e-3, 1e-9 * limit)
    const full = Math.max(need, quantum)
    let grant = 0
    if (need > 0 && need <= left + fuzz) {
      if (full <= claim + fuzz) grant = full
      else if (need <= claim + fuzz) grant = Math.max(need, claim)
      else grant = this.#loan(member, need, quantum, left, free, fuzz)
    }
    member.grant = grant
    member.granted += grant
    this.#granted += grant
    member.waitMs = 0
    // Being granted something ends no wait: who takes turns with others is still in line for more.
    if (grant === 0 && need > 0) {
      const leftMs = (this.#win + 1) * windowMs - this.#nowMs
      const freeIn = (part: number): number => {
        const later = Math.min(1, elapsed + part)
        const then = levelOf(members, most, left, later)
        return left - (claimsAt(members, then, later) - claimOf(member, then, later))
      }
      let wait = LONGEST_WAIT
      if (freeIn(SHORTEST_WAIT) >= full) wait = SHORTEST_WAIT
      else if (freeIn(WAIT) >= need) wait = WAIT
      else if (freeIn(2 * WAIT) >= need) wait = 2 * WAIT
      member.waitMs = need > left + fuzz ? leftMs : Math.min(leftMs, wait * windowMs)
      member.ask = need
      member.askUntilMs = this.#nowMs + (wait + WAIT) * windowMs
    }
    const rest = Math.max(0, limit - this.#granted)
    member.held = claimOf(member, levelOf(members, most, rest, elapsed), elapsed)
  }

  /** What is granted beyond the claim: in turn all that is free, up to a quantum; else what is not owed to others. */
  #loan(member: Member, need: number, quantum: number, left: number, free: number, fuzz: number): number {
    const room = free + fuzz
    if (this.#owed(member, need, left + fuzz) === 0) return need <= room ? Math.max(need, Math.min(quantum, free)) : 0
    for (const part of LOANS) {
      const loan = Math.max(need, part * quantum)
      if (loan + this.#owed(member, loan, left + fuzz) <= room) return loan
    }
    return 0
  }

  /**
   * What has to be left to others if the member gets `cost`: nothing if it is its turn, which it is unless another one
   * waits, for what there is, with less granted for its weight. Otherwise as much as brings all such members as far.
   */
  #owed(member: Member, cost: number, left: number): number {
    const tag = (member.granted + cost) / member.weight
    let owed = 0
    let isTurn = true
    for (const other of this.#members.values()) {
      if (other === member || other.ask <= 0 || other.askUntilMs <= this.#nowMs) continue
      if ((other.granted + other.ask) / other.weight >= tag - 1e-9) continue
      owed += other.weight * tag - other.granted
      if (other.ask <= left) isTurn = false
    }
    return isTurn ? 0 : owed
  }

  #shares(member: Member, { seq, tenants }: LeaseCall): readonly number[] {
    if (tenants === undefined || seq < member.seq) return []
    return tenants.map(({ tenant }) => this.#split.share(member, tenant))
  }
}
