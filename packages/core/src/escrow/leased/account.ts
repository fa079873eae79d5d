import type { Clock } from '../../clock.js'
import type { LeaseAnswer, LeaseCall, PoolStore, TenantDemand } from '../pool/store.js'
import type { PoolTerms } from '../pool/terms.js'

/** What a lease is to bring, and what it says of this member. */
export interface Wish {
  readonly need: number
  readonly back: number
  readonly weight: number
  readonly tenants?: readonly TenantDemand[] | undefined
}

/** What the owner of an account hears. */
export interface AccountListener {
  /** A window has begun; nothing is granted in it yet. `startMs` is its beginning on this process's clock. */
  began(startMs: number): void
  /** The store has answered. `granted` and `held` are up to date. */
  answered(call: LeaseCall, answer: LeaseAnswer): void
}

/** A call on its way, or lost. */
interface Sent {
  readonly call: LeaseCall
  readonly weight: number
  readonly firstSentMs: number
  lastSentMs: number
  /** Resolves when this sending has been answered or has failed; never rejects. */
  done: Promise<void> | undefined
}

/** The store's clock may run this much faster than ours: share of the window by which credit ends early. */
const CLOCK_RATE = 1 / 1_000

/**
 * A member's account with a pool: what it was granted in the present window, and one lease at a time to get more.
 *
 * - Credit ends when `leftMs` have passed since the call was *sent*, on this process's monotonic clock: not after the
 *   window ends in the store, whatever the wall clocks say. An answer that comes later than that, or for an earlier
 *   window, is dropped.
 * - A call that is not answered is sent again as it is, so that the store can tell; only once its window must be over,
 *   a new one takes its place. What it handed back is gone from the moment it is sent.
 * - The store fails if it rejects or does not answer within `timeoutMs`. Then it is tried again, once per `timeoutMs`,
 *   when there is a wish; nobody needs to wait for that.
 */
export class PoolAccount {
  readonly #terms: PoolTerms
  readonly #member: string
  readonly #store: PoolStore
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #listener: AccountListener
  #seq = 0
  #sent: Sent | undefined
  #failed = false
  #retryAtMs: number = Number.NEGATIVE_INFINITY
  #win = -1
  #usableUntilMs: number = Number.NEGATIVE_INFINITY
  #granted = 0
  #held = 0
  #refusedNeed: number = Number.POSITIVE_INFINITY
  #refusedWeight = 0
  #refusedUntilMs: number = Number.NEGATIVE_INFINITY
  #isExhausted = false
  #calls = 0

  constructor(
    terms: PoolTerms,
    member: string,
    store: PoolStore,
    clock: Clock,
    timeoutMs: number,
    listener: AccountListener,
  ) {
    this.#terms = terms
    this.#member = member
    this.#store = store
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#listener = listener
  }

  /** The window of the last answer; -1 before the first. */
  get win(): number {
    return this.#win
  }

  /** Credit of the window, spent or not, less what was handed back. */
  get granted(): number {
    return this.#granted
  }

  /** What the pool kept for this member beyond that, when it last answered. */
  get held(): number {
    return this.#held
  }

  /** When the credit ends, on this process's clock. */
  get usableUntilMs(): number {
    return this.#usableUntilMs
  }

  /** Calls to the store. */
  get calls(): number {
    return this.#calls
  }

  /** True between a failure of the store and its next answer. */
  hasFailed(nowMs: number): boolean {
    if (this.#isOverdue(nowMs)) this.#failed = true
    return this.#failed
  }

  /** How long the pool said to wait before asking for so much again, with no more weight; 0: ask. */
  waitMs(need: number, weight: number, nowMs: number): number {
    const isSame = need >= this.#refusedNeed && weight <= this.#refusedWeight * (1 + 1e-9)
    return isSame ? Math.max(0, this.#refusedUntilMs - nowMs) : 0
  }

  /**
   * True if the pool last refused because there was not so much left in all, rather than because it is others' turn.
   */
  get isExhausted(): boolean {
    return this.#isExhausted
  }

  /**
   * Asks the pool, or joins the call that is on its way. Nothing if it was answered at once, or if the store has just
   * failed; else a promise that resolves when it was answered or has failed.
   */
  draw(wish: () => Wish, nowMs: number): Promise<void> | undefined {
    if (this.#sent?.done !== undefined && !this.#isOverdue(nowMs)) return this.#sent.done
    if (this.hasFailed(nowMs) && nowMs < this.#retryAtMs) return undefined
    this.#retryAtMs = nowMs + this.#timeoutMs
    let sent = this.#sent
    if (sent === undefined || nowMs - sent.firstSentMs >= this.#terms.windowMs) {
      const wished = wish()
      sent = { call: this.#next(wished), weight: wished.weight, firstSentMs: nowMs, lastSentMs: nowMs, done: undefined }
      this.#sent = sent
    }
    sent.lastSentMs = nowMs
    sent.done = this.#send(sent, nowMs)
    return sent.done
  }

  /** True if the last sending is unanswered for too long. */
  #isOverdue(nowMs: number): boolean {
    return this.#sent !== undefined && nowMs - this.#sent.lastSentMs >= this.#timeoutMs
  }

  #next({ need, back, weight, tenants }: Wish): LeaseCall {
    this.#granted -= back
    const call = { pool: this.#terms, member: this.#member, seq: ++this.#seq, win: this.#win, weight, need, back }
    return tenants === undefined ? call : { ...call, tenants }
  }

  #send(sent: Sent, sentMs: number): Promise<void> | undefined {
    this.#calls++
    try {
      const answer = this.#store.lease(sent.call)
      if (answer instanceof Promise)
        return answer.then(
          (late) => this.#take(sent, late, sentMs),
          () => this.#fail(sent, sentMs),
        )
      this.#take(sent, answer, sentMs)
    } catch {
      this.#fail(sent, sentMs)
    }
    return undefined
  }

  #fail(sent: Sent, sentMs: number): void {
    // Of several sendings, the last one tells.
    if (this.#sent !== sent || sent.lastSentMs !== sentMs) return
    this.#failed = true
    sent.done = undefined
  }

  #take(sent: Sent, answer: LeaseAnswer, sentMs: number): void {
    if (this.#sent !== sent) return
    if (!isAnswer(answer)) {
      this.#fail(sent, sentMs)
      return
    }
    this.#sent = undefined
    this.#failed = false
    const { windowMs } = this.#terms
    const { win, leftMs, grant, held, waitMs } = answer
    if (win < this.#win) return
    const endMs = sentMs + Math.min(leftMs, windowMs)
    if (win > this.#win) {
      this.#win = win
      this.#granted = 0
      this.#usableUntilMs = Number.NEGATIVE_INFINITY
      this.#listener.began(endMs - windowMs)
    }
    this.#usableUntilMs = Math.max(this.#usableUntilMs, endMs - windowMs * CLOCK_RATE)
    const nowMs = this.#clock()
    if (nowMs >= this.#usableUntilMs) {
      // What is left of the window is too short to be of use.
      this.#refuse(0, Number.POSITIVE_INFINITY, endMs, true)
      return
    }
    this.#granted += grant
    this.#held = held
    const refused = grant === 0 && sent.call.need > 0
    const need = refused ? sent.call.need : Number.POSITIVE_INFINITY
    this.#refuse(need, sent.weight, nowMs + waitMs, waitMs >= leftMs)
    this.#listener.answered(sent.call, answer)
  }

  #refuse(need: number, weight: number, untilMs: number, isExhausted: boolean): void {
    this.#refusedNeed = need
    this.#refusedWeight = weight
    this.#refusedUntilMs = untilMs
    this.#isExhausted = isExhausted
  }
}

/** A store that answers nonsense has failed. */
function isAnswer(answer: LeaseAnswer): boolean {
  if (typeof answer !== 'object' || answer === null) return false
  const { win, leftMs, grant, held, waitMs, shares } = answer
  return Number.isSafeInteger(win) && [leftMs, grant, held, waitMs].every(isAmount) && Array.isArray(shares)
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0
}
