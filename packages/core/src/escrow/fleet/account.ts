import type { DrawingSettings } from './options.js'
import { type CreditRequest, Refusals, type RefusedRequest } from './reports.js'
import {
  failureOf,
  fuzzOf,
  isAnswer,
  type LeaseAnswer,
  type LeaseCall,
  type PoolMark,
  type PoolTerms,
  type Stake,
  type StoreFailure,
  type TenantReport,
} from './store.js'
import { countdown } from './timing.js'

/** Purpose of a lease, and its report of this member's tenants. */
export interface Wish {
  readonly need: number
  /** Credit that is returned. */
  readonly back: number
  /** Credit to hold of the next window; 0 returns the present holding. */
  readonly ahead: number
  readonly spent: number
  readonly quiet: Stake
  readonly tenants: readonly TenantReport[]
}

/** A pending or lost call. */
interface Sent {
  readonly call: LeaseCall
  readonly firstSentMs: number
  sentMs: number
  /** It was sent again. */
  isRepeated: boolean
  /** Resolves when this sending has been answered or has failed; never rejects. Undefined afterwards. */
  done: Promise<void> | undefined
  end: () => void
}

/** Events for the owner of an account. */
interface AccountListener {
  /** A window has begun; nothing is granted in it yet. `startMs` is its beginning on this process's clock. */
  began(startMs: number): void
  /** The store has answered. `granted` and `held` are up to date. */
  answered(call: LeaseCall, answer: LeaseAnswer): void
  /** The store has failed, and all waiting calls have been told. Must not throw. */
  failed(failure: StoreFailure): void
}

/**
 * Largest relative difference between the rates of the store's clock and ours: the window may end earlier or later by
 * this part of what was left of it at the last answer.
 */
const CLOCK_RATE = 0.001

/**
 * Part of a round trip's duration that the estimate keeps at the next one: a draw from above takes longer if that has
 * to draw as well.
 */
const FADING = 0.75

const NO_MARK: PoolMark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }

/**
 * A member's account with a pool: its grants in the present window, and one lease at a time to get more.
 *
 * - Credit ends when `leftMs` have passed since the call was *sent*, on this process's monotonic clock: never after the
 *   end of the window in the store, regardless of wall clocks. An answer that arrives later is dropped.
 * - Credit of the next window, which was drawn ahead, is available when this window may have ended. From then until it
 *   has certainly ended, a round trip later, amounts are spent from both windows, and nothing is sent.
 * - A call without an answer is sent again unchanged, so that the store recognises it; only when its window must be
 *   over, a new one takes its place. Credit that it returns is gone from the moment it is sent.
 * - The store fails if it rejects or does not answer within `timeoutMs`, not counting time in which this process itself
 *   stalled. Then it is tried again, once per `timeoutMs`, when there is a wish; no call waits for that.
 * - If the machine may have slept, nothing is spent until the store has answered a call that is sent after that.
 * - While it is away, {@link lend} opens windows in which the member has its last known part of the limit.
 */
export class PoolAccount {
  /** The window of the last answer; -1 before the first. */
  win = -1
  /** Credit of the next window. */
  ahead = 0
  /** Amount that the pool reserved for this member beyond what it granted, at its last answer. */
  held = 0
  /** Use per weight up to which a tenant may spend without asking. */
  turn: number = Number.MAX_VALUE
  /** End of the credit, on this process's clock. */
  usableUntilMs: number = Number.NEGATIVE_INFINITY
  /** True while the credit is this member's last known share, because the store is away. */
  isLent = false
  /** True while granted credit must not be spent, because the machine may have slept since the last answer. */
  isDoubted = false
  /** Time of the last call to the store, on this process's clock. */
  sentMs: number = Number.NEGATIVE_INFINITY
  /** Longest duration of recent answers; 0 if the store answers synchronously. */
  roundTripMs = 0
  /** Number of calls to the store. */
  calls = 0
  /** True between a failure of the store and its next answer. */
  hasFailed = false
  /** The store's last failure. */
  failure: StoreFailure | undefined
  readonly #settings: DrawingSettings
  readonly #listener: AccountListener
  readonly #refusals: Refusals = new Refusals()
  #terms: PoolTerms
  #seq = 0
  #sent: Sent | undefined
  #mark = NO_MARK
  #startMs = 0
  #granted = 0
  /** Whether the present window was begun with credit that was drawn ahead, and without an answer yet. */
  #isBegunAhead = false
  /** The window's end by the store's answers: the latest that they gave. */
  #endMs: number = Number.NEGATIVE_INFINITY
  /** Latest end of this window, on this process's clock. */
  #overByMs: number = Number.POSITIVE_INFINITY
  /** Until this time the window before may not have ended; `#spare` is its remaining credit. */
  #opensMs: number = Number.NEGATIVE_INFINITY
  #spare = 0
  /** When the pool reserved the {@link held} amount, and the part that this member has spent or let pass. */
  #heldAtMs = 0
  #passed = 0
  /** Number of occasions on which the machine may have slept. */
  #doubts = 0
  /** The member's part of all weight: by the last answer, and by the last one of the window before. */
  #part = 0
  #partBefore = 0

  constructor(settings: DrawingSettings, listener: AccountListener) {
    this.#settings = settings
    this.#terms = settings.terms
    this.#listener = listener
  }

  /** New terms, from the next call on. Requests refused under the old ones may be repeated. */
  changeTerms(terms: PoolTerms): void {
    this.#terms = terms
    this.#refusals.clear()
  }

  /** Credit of the window, less returned credit; while the window may not have begun, the spendable amount. */
  get granted(): number {
    return this.#isOpening ? Math.min(this.#granted, this.#spare) : this.#granted
  }

  get #isOpening(): boolean {
    return this.#opensMs > Number.NEGATIVE_INFINITY
  }

  /** Duration of the uncertainty about the end of this window. */
  get gapMs(): number {
    return this.#overByMs - this.usableUntilMs
  }

  /** The machine may have slept: nothing is spent until the store has answered a call that is sent from now on. */
  doubt(): void {
    this.isDoubted = true
    this.#doubts++
    this.#refusals.clear()
  }

  /** True while a call is on its way. */
  get isCalling(): boolean {
    return this.#sent?.done !== undefined
  }

  /** Number of members of the pool, as far as is known. */
  get members(): number {
    return this.#mark.members
  }

  /** This member's part of the limit while the store is away: the smaller of the recent and the earlier part. */
  get share(): number {
    return Math.min(this.#part, this.#partBefore)
  }

  /**
   * The reserved amount that must still be available. The part that the member lets pass, at an even pace until the
   * window ends, may have been lent to others by now.
   */
  heldAt(nowMs: number): number {
    return this.isDoubted ? 0 : Math.max(0, this.held - this.#passedAt(nowMs))
  }

  /** A part of the reserved amount was spent. */
  spendHeld(amount: number, nowMs: number): void {
    this.#passed = this.#passedAt(nowMs) + amount
  }

  #passedAt(nowMs: number): number {
    const restMs = this.usableUntilMs - this.#heldAtMs
    const faded = restMs > 0 ? Math.min(1, (nowMs - this.#heldAtMs) / restMs) : 1
    return Math.max(this.#passed, this.held * faded)
  }

  #hold(amount: number, nowMs: number): void {
    this.held = amount
    this.#heldAtMs = nowMs
    this.#passed = 0
  }

  /** The pool's refusal that predicts its answer to a request; undefined: ask. */
  refusalOf(request: CreditRequest, nowMs: number): RefusedRequest | undefined {
    return this.#refusals.of(request, nowMs)
  }

  /** Continues with the credit drawn ahead once this window, with the remainder `spare`, may have ended. */
  moveTo(nowMs: number, spare: () => number): void {
    const { windowMs } = this.#terms
    const endsMs = this.usableUntilMs
    if (this.ahead > 0 && nowMs >= endsMs && nowMs < endsMs + windowMs * (1 - CLOCK_RATE)) {
      this.#spare = Math.max(0, spare())
      this.#opensMs = this.#overByMs
      this.#overByMs += windowMs * (1 + CLOCK_RATE)
      this.win++
      this.#granted = this.ahead
      this.ahead = 0
      this.#isBegunAhead = true
      this.#mark = { ...this.#mark, total: this.#mark.ahead, ahead: 0 }
      // A stall or a clock's rate must not add up over many windows.
      this.#begin(this.#endMs)
      this.#endMs = endsMs + windowMs
      this.usableUntilMs = endsMs + windowMs * (1 - CLOCK_RATE)
    }
    if (nowMs >= this.#opensMs) this.#opensMs = Number.NEGATIVE_INFINITY
  }

  #begin(startMs: number): void {
    this.#startMs = startMs
    this.#hold(0, 0)
    this.turn = Number.MAX_VALUE
    this.#refusals.clear()
    this.#listener.began(startMs)
  }

  /** Opens the window of `nowMs`, while the store is away, with this member's share of the limit as credit. */
  lend(nowMs: number): void {
    if (this.isDoubted) return
    const { windowMs, limit } = this.#terms
    const share = this.share * limit
    if (this.#isBegunAhead && !this.isLent) {
      this.isLent = true
      this.#granted = Math.max(this.#granted, share)
    }
    // Until then the store may still be in the last window, in which this member has spent.
    if (this.win < 0 || nowMs < this.#overByMs) return
    const windows = Math.floor((nowMs - this.#overByMs) / windowMs) + 1
    this.win += windows
    this.#mark = { ...this.#mark, total: 0, ahead: 0 }
    this.isLent = true
    this.#granted = share
    this.ahead = 0
    this.#opensMs = Number.NEGATIVE_INFINITY
    this.#begin(this.#startMs + windows * windowMs)
    this.#endMs = this.#startMs + windowMs
    this.usableUntilMs += windows * windowMs * (1 - CLOCK_RATE)
    this.#overByMs += windows * windowMs * (1 + CLOCK_RATE)
  }

  /**
   * Asks the pool, or joins the pending call. Undefined if it was answered synchronously, or if the store has just
   * failed, unless `isLast` requests another try; otherwise a promise that resolves when it was answered or has failed.
   */
  draw(wish: () => Wish, nowMs: number, isLast = false): Promise<void> | undefined {
    if (this.#sent?.done !== undefined) return this.#sent.done
    if (this.hasFailed && !isLast && nowMs < this.sentMs + this.#settings.storeTimeoutMs) return undefined
    if (this.#isOpening) return this.#untilOpen(nowMs)
    let sent = this.#sent
    if (sent === undefined || nowMs - sent.firstSentMs >= this.#terms.windowMs) {
      const wished = wish()
      // Time has passed meanwhile.
      if (this.#isOpening) return this.#untilOpen(nowMs)
      const call = this.#next(wished)
      sent = { call, firstSentMs: nowMs, sentMs: nowMs, isRepeated: false, done: undefined, end: () => {} }
      this.#sent = sent
    } else sent.isRepeated = true
    this.sentMs = nowMs
    sent.sentMs = nowMs
    this.#send(sent, nowMs)
    return sent.done
  }

  #untilOpen(nowMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#settings.after(Math.max(0, this.#opensMs - nowMs), resolve)
    })
  }

  #next({ need, back, ahead: wants, spent, quiet, tenants }: Wish): LeaseCall {
    if (!this.isLent) this.#granted -= back
    if (wants === 0) this.ahead = 0
    const holds = this.isLent ? spent : Math.max(this.#granted, spent)
    const seq = ++this.#seq
    const { win } = this
    return {
      ...{ pool: this.#terms, member: this.#settings.member, seq, win, holds, spent, mark: this.#mark },
      ...{ quiet, tenants, need, ahead: this.ahead, wants },
    }
  }

  #send(sent: Sent, sentMs: number): void {
    this.calls++
    const doubts = this.#doubts
    try {
      const answer = this.#settings.store.lease(sent.call)
      if (!(answer instanceof Promise)) {
        this.#take(sent, answer, sentMs, doubts)
        return
      }
      let cancel = (): void => {}
      sent.done = new Promise((resolve) => {
        sent.end = () => {
          cancel()
          sent.done = undefined
          resolve()
        }
      })
      answer.then(
        (late) => this.#take(sent, late, sentMs, doubts),
        (error: unknown) => this.#fail(sent, sentMs, failureOf(error)),
      )
      const { storeTimeoutMs, clock, after } = this.#settings
      const message = `the store did not answer within ${storeTimeoutMs} ms`
      const fail = (): void => this.#fail(sent, sentMs, { kind: 'timeout', message, cause: undefined })
      cancel = countdown(storeTimeoutMs, clock, after, fail)
    } catch (error) {
      this.#fail(sent, sentMs, failureOf(error))
    }
  }

  #fail(sent: Sent, sentMs: number, failure: StoreFailure): void {
    // Of several sendings, the last one counts.
    if (this.#sent !== sent || sent.sentMs !== sentMs) return
    this.hasFailed = true
    this.failure = failure
    // A store throws this, by contract, for a bad call: nothing has changed, and a retry would change nothing.
    if (failure.cause instanceof RangeError) this.#sent = undefined
    sent.end()
    this.#listener.failed(failure)
  }

  #take(sent: Sent, answer: LeaseAnswer, sentMs: number, doubts: number): void {
    if (this.#sent !== sent) return
    const nowMs = this.#settings.clock()
    if (doubts !== this.#doubts) {
      // The time of sending is unknown: it is sent again.
      if (sent.sentMs === sentMs) sent.end()
      return
    }
    if (!isAnswer(answer, sent.call)) {
      const cause = new TypeError('the store answered something else than a lease')
      this.#fail(sent, sentMs, failureOf(cause))
      return
    }
    this.#sent = undefined
    this.hasFailed = false
    this.roundTripMs = Math.max(nowMs - sentMs, FADING * this.roundTripMs)
    this.#enter(sent, answer, sentMs, nowMs)
    sent.end()
  }

  #enter({ call, isRepeated }: Sent, answer: LeaseAnswer, sentMs: number, nowMs: number): void {
    const { windowMs } = this.#terms
    const { win, leftMs, mark, grant, ahead, held, part, turn } = answer
    const said = call.ahead ?? 0
    // The same call, sent again, may be answered differently in the next window: its credit drawn ahead is uncertain.
    const drawn = isRepeated ? Math.min(ahead, said) : ahead
    if (this.#isBegunAhead && win === this.win - 1) {
      if (call.win === win) this.#granted += drawn - said
      return
    }
    const endMs = sentMs + Math.min(leftMs, windowMs)
    if (win !== this.win) {
      this.#partBefore = win === this.win + 1 ? this.#part : 0
      this.win = win
      this.usableUntilMs = this.#endMs = Number.NEGATIVE_INFINITY
      this.#overByMs = Number.POSITIVE_INFINITY
      this.#begin(endMs - windowMs)
    } else if (this.#isBegunAhead) this.#partBefore = this.#part
    this.#isBegunAhead = false
    this.#opensMs = Number.NEGATIVE_INFINITY
    this.isLent = false
    if (this.isDoubted) this.usableUntilMs = this.#endMs = Number.NEGATIVE_INFINITY
    this.isDoubted = false
    this.#part = part
    this.#mark = mark
    this.#granted = call.win === win ? call.holds : call.win === win - 1 ? said : 0
    this.ahead = drawn
    this.#endMs = Math.max(this.#endMs, endMs)
    // In a tree, pools begin a window one after the other.
    const marginMs = CLOCK_RATE * (this.#settings.tree === undefined ? leftMs : windowMs)
    this.usableUntilMs = Math.max(this.usableUntilMs, endMs - marginMs)
    this.#overByMs = Math.min(this.#overByMs, nowMs + leftMs + marginMs)
    if (nowMs >= this.usableUntilMs) {
      // The rest of the window is too short to be of use.
      const everybody = { tenant: '', weight: 0, share: 0, need: 0 }
      this.#refusals.add({ ...everybody, untilMs: endMs, isExhausted: true }, nowMs)
      return
    }
    this.#granted += grant
    this.#hold(Math.min(held, Math.max(0, call.pool.limit - this.#granted)), nowMs)
    this.turn = turn
    this.#learn(call, answer, nowMs)
    this.#listener.answered(call, answer)
  }

  /** Learns from the answer what may be asked for until the next one. */
  #learn({ pool, tenants, need }: LeaseCall, { grant, mark, waitMs, shares, used }: LeaseAnswer, nowMs: number): void {
    const left = pool.limit - mark.total + fuzzOf(pool.limit)
    this.#refusals.leave(left)
    const [asker] = tenants
    if (need === 0 || grant > 0 || asker === undefined) return
    const { tenant, weight } = asker
    // In the pool's terms: the tenant's use at all members.
    const share = used[0]! / (shares[0]! * weight)
    this.#refusals.add({ tenant, weight, share, need, untilMs: nowMs + waitMs, isExhausted: need > left }, nowMs)
  }
}
