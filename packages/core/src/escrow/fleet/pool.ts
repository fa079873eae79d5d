import { claimOfMember, Head, Member, Tenants, type Weighed, weightOf } from './members.js'
import {
  fuzzOf,
  graceOf,
  type LeaseAnswer,
  type LeaseCall,
  type PoolMark,
  type PoolTerms,
  type Stake,
} from './store.js'
import { claimOf, claimsAt, levelOf } from './strata.js'

/** Retry delays of a refused member, in windows: short if silent members are about to let whole quanta pass. */
const SHORTEST_WAIT = 1 / 32
const WAIT = 1 / 20
const LONGEST_WAIT = 1 / 10
/** A refused tenant may take this much longer than it was told to: HTTP adds up to half at random. */
const LATE = 1.5
/** Longest wait for such tenants, as a part of the window: more gained nothing, half of it cost late ones 9 points. */
const PATIENCE = 3 / 10

/**
 * A slot of time, as part of a window: a refused member is in line until the slot after its own ends. With slots of a
 * twentieth, members that came back at the stated time had lost their place.
 */
const SLOT = 1 / 12

/**
 * Quanta by which a tenant may be ahead of the line and still spend credit. With one, a tenant of several members that
 * is alone in line waits for its own quanta there: 93 % was used in a fleet 50 ms away, instead of 96.
 */
const AHEAD = 2

/** Amounts granted out of turn, in quanta: with smaller ones, a fleet that pauses would call for tiny amounts. */
const LOANS = [1, 1 / 2, 1 / 4]

/** Part of a window after which a member that has not called no longer counts. */
const LAPSE = 1 / 2

/** Longest wait of a pool that lost its state for members that have not called, in graces. */
const LONGEST_GRACE = 4

/**
 * The pool: one budget per window, from which members draw credit by weighted max-min, whole quanta at a time.
 *
 * It is the rule of one process, among the tenants of all members. Each is guaranteed its weight's share of the limit,
 * and its claim to that fades evenly as the window passes, but not before the tenants refused in the last one are back,
 * or have had time to return. A tenant draws from its claim, and up to a quantum from those of others at its member,
 * which divides it between them; unclaimed budget goes to the tenant that asks, except the amount owed to those in line
 * that have got less per weight. Tenants that were refused more than their part of the limit lend their claims to the
 * first of them: each would wait for the claims of the others. So unused shares of silent tenants are divided by the
 * weights of those that still want more, at any member. Tenants are known as strata of their use per weight; those that
 * a member has not named yet claim as one. Each answer states the use per weight up to which a tenant may spend the
 * member's credit without asking. Pure: the store passes the time.
 *
 * Credit never exceeds the limit, regardless of members' reports and of lost, late or repeated calls: each call states
 * the member's holding, and a call that arrives after a later one changes nothing. A member that was answered by
 * another *epoch*, or later than the pool remembers, proves that the store has lost its state. Then nothing is granted
 * for {@link graceOf} a window, nor until as many members have called as were at work when the best informed of them
 * was answered, for four times that at most. By then every active member has reported its holding, and its knowledge of
 * the total grants: the one with the last grant knew everything.
 *
 * Members of the window before keep their claims, until they call or {@link LAPSE} of the window has passed. A tenant's
 * advantage there over refused ones counts as used in this one: {@link Tenants}.
 *
 * O(members + strata) a call, O(members of a tenant) for each tenant in it.
 */
export class Pool {
  readonly #head: Head
  readonly #members: Map<string, Member>
  readonly #tenants: Tenants

  /** Without arguments, an empty pool. Otherwise one that continues, and modifies its arguments. */
  constructor(head: Head = new Head(), members: Map<string, Member> = new Map(), tenants: Tenants = new Tenants()) {
    this.#head = head
    this.#members = members
    this.#tenants = tenants
  }

  /** Answers a checked call. `nowMs` is the time that determines windows, not negative. */
  lease(call: LeaseCall, nowMs: number): LeaseAnswer {
    const { windowMs } = call.pool
    // A member does not begin a window before it is certain that the one before is over: the store's clock went back.
    const begunMs = call.win * windowMs
    this.#moveTo(nowMs < begunMs && nowMs >= begunMs - windowMs ? begunMs : nowMs, call.pool)
    const member = this.#memberOf(call)
    if (call.seq > member.seq) {
      this.#head.rev++
      this.#take(member, call)
      this.#answer(member, call)
    }
    const isLast = call.seq === member.seq
    const places = isLast ? call.tenants.map(({ tenant }) => this.#tenants.placeOf(tenant, member)) : []
    const { win } = this.#head
    return {
      win,
      leftMs: (win + 1) * windowMs - this.#head.nowMs,
      mark: this.#mark(windowMs),
      grant: isLast ? member.grant : 0,
      ahead: member.next,
      held: member.held,
      part: this.#partOf(member, windowMs),
      turn: this.#turn(call.pool.quantum),
      room: isLast ? member.room : 0,
      waitMs: member.waitMs,
      shares: places.map(({ part }) => part),
      // The grant of this call is not used yet.
      used: places.map(({ part, used }, at) => part * (at === 0 ? used - member.grant : used)),
    }
  }

  /** Bound up to which credit may be spent: a little ahead of the tenant in line with least per weight. */
  #turn(quantum: number): number {
    let least = Number.MAX_VALUE
    for (const { count, weight, used, ask } of this.#tenants.line())
      least = Math.min(least, (used + ask + count * AHEAD * quantum) / weight)
    return Math.max(this.#head.level, least)
  }

  /** A small step back counts as no time passed; more than a window back starts a new window. */
  #moveTo(nowMs: number, pool: PoolTerms): void {
    const { windowMs } = pool
    const isBack = this.#head.nowMs - nowMs > windowMs
    this.#head.nowMs = isBack ? nowMs : Math.max(this.#head.nowMs, nowMs)
    const win = Math.floor(this.#head.nowMs / windowMs)
    if (win !== this.#head.win) this.#begin(win, pool)
    this.#tenants.moveTo(Math.floor(this.#head.nowMs / (windowMs * SLOT)))
  }

  #begin(win: number, { limit, windowMs }: PoolTerms): void {
    const quiet = { weight: 0, used: 0 }
    for (const member of this.#members.values()) {
      quiet.weight += member.quiet.weight
      quiet.used += member.quiet.used
    }
    const left = Math.max(0, limit - this.#head.granted)
    const startMs = win * windowMs
    const isNext = win === this.#head.win + 1
    // Its last call, if it is sent again, is a new one here; those before it are not. A member without tenants may hold
    // credit of this window: forgotten here, its report would count as a grant that this pool has lost.
    for (const [name, member] of this.#members) {
      const weight = weightOf(member)
      if (isNext && member.hasCalled && (weight > 0 || member.next > 0))
        this.#members.set(name, new Member(startMs, member.seq - 0.5, weight, member.next))
      else this.#members.delete(name)
    }
    // A member that has not called by then may hold credit that was drawn ahead.
    const isListening = isNext && this.#graceMs(windowMs) > 0
    // No member called for a whole window: a store may have dropped the pool by now.
    if (win > this.#head.win + 1) {
      this.#head.epoch = Math.max(1, Math.floor(this.#head.nowMs))
      this.#head.rev = 0
    }
    const back = isNext ? this.#head.backMs : 0
    this.#head.fadesFromMs = Math.max(startMs, Math.min(back, startMs + PATIENCE * windowMs))
    this.#head.win = win
    this.#head.backMs = 0
    this.#head.granted = isNext ? this.#head.ahead : 0
    // In an epoch that began with a loss, nothing was granted ahead.
    this.#head.since = this.#head.lostEpoch === this.#head.epoch ? 0 : this.#head.granted
    this.#head.ahead = 0
    this.#tenants.begin(isNext, this.#head.level, limit, left, quiet)
    this.#head.level = Number.MAX_VALUE
    this.#head.due = Number.MAX_VALUE
    this.#head.lent = 0
    if (!isListening) this.#head.forgetLoss()
  }

  #memberOf({ member: name }: LeaseCall): Member {
    let member = this.#members.get(name)
    if (member === undefined) {
      member = new Member(this.#head.nowMs)
      this.#members.set(name, member)
    }
    return member
  }

  #isPresent({ seenMs }: Member, windowMs: number): boolean {
    return seenMs > this.#head.nowMs - windowMs * LAPSE
  }

  #present(windowMs: number): Member[] {
    return [...this.#members.values()].filter((member) => this.#isPresent(member, windowMs))
  }

  /** The member's part of all weight. */
  #partOf(member: Member, windowMs: number): number {
    const weights = this.#present(windowMs).reduce((sum, other) => sum + weightOf(other), 0)
    return weights > 0 ? weightOf(member) / weights : 0
  }

  /** The elapsed part of the time in which claims fade. */
  #elapsedAt(atMs: number, windowMs: number): number {
    const { win, fadesFromMs } = this.#head
    return Math.min(1, Math.max(0, (atMs - fadesFromMs) / ((win + 1) * windowMs - fadesFromMs)))
  }

  /** Applies the member's report. */
  #take(member: Member, call: LeaseCall): void {
    const { windowMs } = call.pool
    const isHere = call.win === this.#head.win
    member.seq = call.seq
    member.seenMs = this.#head.nowMs
    member.hasCalled = true
    this.#hold(member, call)
    member.quiet = { weight: call.quiet.weight, used: isHere ? call.quiet.used : 0 }
    member.idle = isHere ? Math.max(0, call.holds - call.spent) : 0
    const elapsed = this.#elapsedAt(this.#head.nowMs, windowMs)
    const { level, due } = this.#head
    const isPresent = (at: Weighed): boolean => this.#isPresent(at as Member, windowMs)
    for (const report of call.tenants)
      this.#tenants.report(member, isHere ? report : { ...report, used: 0 }, level, elapsed, due, isPresent)
  }

  /** The member's holding is its reported one; that also shows whether the pool knows of all grants. */
  #hold(member: Member, { pool, win, holds, ahead = 0, mark }: LeaseCall): void {
    const head = this.#head
    const { limit, windowMs } = pool
    const isHere = win === head.win
    const isOfLast = win >= 0 && win === head.win - 1
    const held = isHere ? holds : isOfLast ? ahead : 0
    const heldAhead = isHere ? ahead : 0
    const more = held - member.granted
    const moreAhead = heldAhead - member.next
    member.granted = held
    member.next = heldAhead
    if (isHere && mark.epoch === head.epoch && mark.rev >= head.rev) {
      head.epoch = Math.max(head.epoch + 1, Math.floor(head.nowMs))
      head.since = 0
      head.informedWin = -1
    }
    // A member of the window before knows another epoch, too, if the pool began anew in this one.
    const isOld = isOfLast && head.epoch >= Math.floor(head.win * windowMs)
    const isLost = (isHere || isOld) && mark.epoch !== head.epoch
    if (isLost) {
      let known = 0
      let knownAhead = 0
      for (const other of this.#members.values()) {
        known += other.granted
        knownAhead += other.next
      }
      const total = isHere ? mark.total : mark.ahead
      head.granted = Math.max(head.granted, total + head.since, known)
      head.ahead = Math.max(head.ahead, isHere ? mark.ahead : 0, knownAhead)
      head.heard++
      if (win > head.informedWin) head.informedEpoch = -1
      const isLater = mark.epoch === head.informedEpoch ? mark.rev > head.informedRev : mark.epoch > head.informedEpoch
      if (win >= head.informedWin && isLater) {
        head.informedWin = win
        head.informedEpoch = mark.epoch
        head.informedRev = mark.rev
        head.awaited = mark.members
      }
    } else {
      head.granted = Math.max(0, head.granted + more)
      head.since += more
      head.ahead = Math.max(0, head.ahead + moreAhead)
    }
    if ((isLost || Math.max(more, moreAhead) > fuzzOf(limit)) && head.lostEpoch !== head.epoch) {
      head.lostEpoch = head.epoch
      head.lostMs = head.nowMs
    }
    // All members that could know have called, and nothing was granted in this window.
    if (isLost && this.#unheard() === 0 && head.granted === 0)
      head.lostMs = head.nowMs - LONGEST_GRACE * graceOf(windowMs)
  }

  /** Time in which nothing is granted yet, because members that may know of more have to call first. */
  #graceMs(windowMs: number): number {
    if (this.#head.lostEpoch !== this.#head.epoch) return 0
    const graceMs = graceOf(windowMs)
    const restMs = this.#head.lostMs + graceMs - this.#head.nowMs
    if (restMs > 0) return restMs
    const mostMs = restMs + (LONGEST_GRACE - 1) * graceMs
    return this.#unheard() > 0 ? Math.max(0, Math.min(mostMs, graceMs / 4)) : 0
  }

  #unheard(): number {
    return Math.max(0, this.#head.awaited - this.#head.heard)
  }

  /** For the member's next call: shows whether the pool has lost its state, and how many members must call then. */
  #mark(windowMs: number): PoolMark {
    const sinceMs = this.#head.nowMs - graceOf(windowMs)
    let members = this.#graceMs(windowMs) > 0 ? this.#unheard() : 0
    for (const member of this.#members.values()) if (member.seenMs > sinceMs && weightOf(member) > 0) members++
    const { epoch, rev, granted: total, ahead } = this.#head
    return { epoch, rev, total, ahead, members }
  }

  #answer(member: Member, call: LeaseCall): void {
    const { need, tenants } = call
    const { limit, windowMs, quantum } = call.pool
    const present = this.#present(windowMs)
    const { active, large, carried, reach } = this.#tenants.standings
    // Copies: the decision takes the asking tenant out of its stratum.
    const claimants: Stake[] = [...active.map((one) => ({ ...one })), ...present.map(({ quiet }) => quiet)]
    const lenders = large.map((one) => ({ ...one }))
    const weights = claimants.reduce((sum, { weight }) => sum + weight, 0)
    const elapsed = this.#elapsedAt(this.#head.nowMs, windowMs)
    const left = call.left ?? Math.max(0, limit - this.#head.granted)
    const most = weights > 0 ? (limit + carried) / weights : 0
    // Idle credit at a member is available to those with claims there.
    const before = Math.min(most, this.#head.level)
    const kept = (other: Member): number => Math.min(other.idle, claimOfMember(other, before, elapsed))
    const idle = present.reduce((sum, other) => sum + kept(other), 0)
    /** The part of the lenders' claims that is lent. */
    const lentAt = (level: number, elapsed: number): number =>
      Math.min(this.#head.lent, claimsAt(lenders, level, elapsed))
    const level = levelOf(claimants, most, left + idle + lentAt(before, elapsed), elapsed)
    this.#head.lent = lentAt(level, elapsed)
    const fuzz = fuzzOf(limit)
    // Without tenants, none has had more than a guarantee.
    this.#head.level = weights > 0 ? level : Number.MAX_VALUE
    this.#head.due = weights > 0 ? Math.max(level, limit / weights) + fuzz / weights : Number.MAX_VALUE
    let grant = 0
    member.room = 0
    member.waitMs = 0
    const graceMs = this.#graceMs(windowMs)
    if (need > 0 && graceMs > 0) member.waitMs = graceMs
    else if (tenants.length > 0) {
      const { tenant } = tenants[0]!
      const { weight, used, carried: ahead, lends } = this.#tenants.placeOf(tenant, member)
      const asker = { weight, used: used + member.idle }
      const full = Math.max(need, quantum)
      const keptHere = kept(member)
      /** The remainder without the claims of others, when a part of the window has passed. */
      const freeAt = (level: number, elapsed: number): number => {
        const own = claimOf({ weight, used }, level, elapsed)
        const lent = lentAt(level, elapsed)
        const ofOthers = lends && lent > 0 ? lent - (lent / claimsAt(lenders, level, elapsed)) * own : lent
        const others = claimsAt(claimants, level, elapsed) - own - ofOthers
        return left - Math.max(0, others - (idle - keptHere))
      }
      const free = freeAt(level, elapsed)
      const exceeds = need > weight * this.#head.due - ahead
      const lendable = claimsAt(lenders, level, elapsed)
      const lentPart = lendable > 0 ? this.#head.lent / lendable : 0
      const available = Math.min(left + fuzz, reach)
      // A lease for each of many tenants would take too long.
      const reserved = Math.min(left, (claimOfMember(member, level, elapsed) - member.idle) * (1 - lentPart))
      const decide = (): number => {
        let some = 0
        if (need <= left + fuzz) {
          const own = (stake: Stake): number => claimOf(stake, level, elapsed) * (lends ? 1 - lentPart : 1)
          // The idle credit there may be for others; not while the pool relies on reports, after a loss.
          const besides = this.#head.lostEpoch === this.#head.epoch ? 0 : Math.min(own({ weight, used }), reserved)
          const claim = Math.min(left, Math.max(own(asker), besides))
          if (need <= claim + fuzz) some = Math.max(need, Math.min(full, Math.max(claim, reserved)))
          else some = this.#loan(asker, need, quantum, available, free, fuzz)
          if (some === 0 && exceeds && this.#isFirst(asker, need, available)) {
            const own = lends ? claimOf({ weight, used }, level, elapsed) : 0
            const room = free + (lendable - own) * (1 - lentPart) + fuzz
            if (need + this.#owed(asker, need, available) <= room) some = need
            if (some > 0) this.#head.lent += Math.max(0, need - free)
          }
        }
        // A grant ends no wait: a tenant that takes turns with others is still in line for more.
        if (some > 0) return some
        const leftMs = (this.#head.win + 1) * windowMs - this.#head.nowMs
        const freeIn = (part: number): number => {
          const later = this.#elapsedAt(this.#head.nowMs + part * windowMs, windowMs)
          return freeAt(levelOf(claimants, most, left + idle + lentAt(level, later), later), later)
        }
        let wait = LONGEST_WAIT
        if (freeIn(SHORTEST_WAIT) >= full) wait = SHORTEST_WAIT
        else if (freeIn(WAIT) >= need) wait = WAIT
        member.waitMs = need > left + fuzz ? leftMs : Math.min(leftMs, wait * windowMs)
        this.#head.backMs = Math.max(this.#head.backMs, this.#head.nowMs + LATE * member.waitMs)
        return 0
      }
      if (need > 0) grant = this.#tenants.grant(tenant, member, need, exceeds, decide)
      member.room = Math.max(0, free - grant)
      member.granted += grant
      this.#head.granted += grant
      this.#head.since += grant
    }
    member.grant = grant
    this.#grantAhead(member, call)
    const rest = Math.max(0, left - grant)
    member.held = Math.min(rest, Math.max(0, claimOfMember(member, level, elapsed) - member.idle))
  }

  /** Credit of the next window, up to the member's part of it. A pool that has lost its state grants none. */
  #grantAhead(member: Member, { pool, win, wants = 0 }: LeaseCall): void {
    const head = this.#head
    if (wants <= member.next || win !== head.win || head.lostEpoch === head.epoch) return
    const most = pool.limit * this.#partOf(member, pool.windowMs)
    const some = Math.min(Math.min(wants, most) - member.next, pool.limit - head.ahead)
    if (some <= 0) return
    member.next += some
    head.ahead += some
  }

  /** The grant beyond the claim: in turn all free budget, up to a quantum; otherwise the part not owed to others. */
  #loan(asker: Stake, need: number, quantum: number, available: number, free: number, fuzz: number): number {
    const room = free + fuzz
    const inTurn = Math.max(need, Math.min(quantum, free))
    if (this.#owed(asker, need, available) === 0) return need <= room ? inTurn : 0
    // A quantum ahead is near enough, unless the amounts are tiny: those behind will come when they were told to.
    const least = Math.max(need, quantum)
    if (least <= room && this.#owed(asker, need - quantum, available) === 0) return inTurn
    for (const part of LOANS) {
      const loan = Math.max(need, part * quantum)
      if (loan + this.#owed(asker, loan, available) <= room) return loan
    }
    return 0
  }

  /** Whether its call brings no lender, of those whose calls may be granted, less far per weight. */
  #isFirst({ weight: own, used: before }: Stake, cost: number, available: number): boolean {
    const tag = (before + cost) / own
    return this.#tenants.standings.large.every(
      ({ count, weight, used, ask }) => ask / count > available || (used + ask) / weight >= tag - 1e-9,
    )
  }

  /**
   * The amount to leave to others if the asking tenant gets `cost`: nothing if it is its turn, which it is unless
   * others with less per weight wait for available amounts. Otherwise as much as brings them all as far.
   */
  #owed({ weight: own, used: before }: Stake, cost: number, available: number): number {
    const tag = (before + cost) / own
    let owed = 0
    let isTurn = true
    for (const { count, weight, used, ask } of this.#tenants.line()) {
      if ((used + ask) / weight >= tag - 1e-9) continue
      owed += weight * tag - used
      if (ask / count <= available) isTurn = false
    }
    return isTurn ? 0 : owed
  }
}
