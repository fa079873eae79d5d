import type { Outcome } from '../admission/outcome.js'
import type { Contest } from '../admission/stage.js'
import type { Clock } from '../clock.js'
import { MOST_COST } from '../sfq/options.js'
import type { Durations } from './durations.js'
import type { QueueSettings } from './options.js'
import type { Refusals } from './reasons.js'
import { Supply } from './supply.js'
import type { Host, Waiter } from './waiter.js'
import { WaitingList } from './waiting-list.js'

/**
 * What runs, and who starts next: lets requests out of the waiting list as slots come free.
 *
 * It starts all that may whenever something may have changed: a request came and slots are free, one that ran ended,
 * one that waited left, the capacity tells. After that, whoever waits has been answered no by the capacity, which
 * tells when it is worth asking again; or the capacity failed, and is asked again at the next call of any kind.
 */
export class Floor implements Host {
  readonly list: WaitingList
  readonly supply: Supply
  running = 0
  startedAtOnce = 0
  startedLater = 0
  readonly #durations: Durations
  readonly #clock: Clock
  readonly #stopListening: () => void
  #pumping = false
  /** One waits though slots are free, because its flow has all that it may have. */
  #capped = false

  constructor(settings: QueueSettings, durations: Durations, refusals: Refusals, clock: Clock) {
    this.#durations = durations
    this.#clock = clock
    this.list = new WaitingList(settings, durations, refusals, clock, () => this.wake(clock()))
    this.supply = new Supply(settings.capacity)
    this.#stopListening = settings.capacity.onAvailable(
      () => this.#told(),
      () => this.list.size,
    )
  }

  /** Starts a request that comes, if nobody waits before it and slots are free. Throws what the capacity throws. */
  tryStart(waiter: Waiter, nowMs: number): boolean {
    const { band, cost, width } = waiter
    const { bands, bypass, holdings } = this.list
    if (bands.anyUpTo(band) || !bypass.allows(width) || !holdings.isAllowed(waiter)) return false
    if (!this.supply.capacity.tryTake(width, nowMs)) return false
    this.startedAtOnce++
    bands.started(band, cost)
    this.#run(waiter, nowMs)
    return true
  }

  /** Something came or left without having started: starts what may. */
  resume(nowMs: number): void {
    const { list, supply } = this
    if (list.size > 0) supply.wake(nowMs)
    if (list.size > 0 && (supply.untold || supply.anyFree())) this.#pump(nowMs)
    if (this.running === 0) list.tidy()
  }

  /** Time has passed: turns away what waited for too long, and lets others take the place. */
  wake(nowMs: number): void {
    this.list.expire(nowMs)
    this.resume(nowMs)
  }

  left(waiter: Waiter): void {
    if (waiter.state !== 'waiting') return
    const nowMs = this.#clock()
    this.list.remove(waiter, 'gone', nowMs)
    this.resume(nowMs)
  }

  finished(waiter: Waiter, outcome: Outcome, cost: number, nowMs: number): void {
    this.running--
    this.list.holdings.ends(waiter)
    const durationMs = Math.max(0, nowMs - waiter.startedMs)
    if (outcome === 'success') this.#durations.learn(waiter.className, durationMs)
    try {
      this.list.settle(waiter, Math.min(MOST_COST, cost))
    } finally {
      try {
        this.supply.release(waiter.width, outcome, durationMs, nowMs)
      } finally {
        this.#afterwards(nowMs)
      }
    }
  }

  undone(waiter: Waiter, nowMs: number): void {
    this.running--
    this.list.holdings.ends(waiter)
    this.list.settle(waiter, 0)
    try {
      this.supply.undo(waiter.width, nowMs)
    } finally {
      this.#afterwards(nowMs)
    }
  }

  /** Turns away all that waits, whatever the capacity does. */
  close(nowMs: number): void {
    this.list.close(nowMs)
    this.#stopListening()
  }

  /** After slots came back; the capacity has told us already, unless it was not able to. */
  #afterwards(nowMs: number): void {
    if (this.supply.untold || this.#capped) this.#pump(nowMs)
    this.list.tidy()
  }

  contest(waiter: Waiter): Contest {
    return this.list.holdings.contest(waiter, this.supply.limit)
  }

  /** The capacity has more, maybe because of another room. */
  #told(): void {
    if (this.list.size === 0) return
    this.#pump(this.#clock())
    if (this.running === 0) this.list.tidy()
  }

  #pump(nowMs: number): void {
    if (this.#pumping || this.list.size === 0) return
    this.#pumping = true
    this.supply.untold = false
    this.#capped = false
    try {
      this.list.expire(nowMs)
      while (this.#startNext(nowMs));
    } finally {
      this.#pumping = false
    }
  }

  /** Starts one, or has one that does not fit be passed; false if there is nothing more to do. */
  #startNext(nowMs: number): boolean {
    const { list, supply } = this
    const passing = list.passing(nowMs)
    if (passing !== undefined && this.#startWaiting(passing, nowMs)) return true
    if (supply.untold) return false
    const head = this.#next()
    if (head === undefined || !list.bypass.allows(head.width)) return false
    if (this.#startWaiting(head, nowMs)) return true
    const { changes } = list
    if (passing !== undefined || supply.untold || !supply.anyFree()) return false
    if (list.changes === changes) list.hold(head)
    return true
  }

  /** Whose turn it is: of a flow within its share of the slots, if one waits; of none that has all it may have. */
  #next(): Waiter | undefined {
    const { list } = this
    const { holdings } = list
    const limit = this.supply.limit
    const head = list.next(holdings.isContested ? (one) => holdings.isWithinShare(one, limit) : undefined)
    if (head === undefined || holdings.isAllowed(head)) return head
    this.#capped = true
    const other = list.next((one) => holdings.isAllowed(one))
    return other !== undefined && holdings.isAllowed(other) ? other : undefined
  }

  /**
   * Starts one that waits, if there are slots for it. True also if somebody came or left while the capacity was asked,
   * which may call anything: then it may be another's turn.
   */
  #startWaiting(waiter: Waiter, nowMs: number): boolean {
    const { list, supply } = this
    const { changes } = list
    const taken = supply.take(waiter.width, nowMs)
    if (list.changes !== changes) {
      if (taken) supply.giveBack(waiter.width, nowMs)
      return true
    }
    if (!taken) return false
    this.startedLater++
    list.start(waiter, nowMs)
    this.#run(waiter, nowMs)
    waiter.answer(waiter)
    return true
  }

  #run(waiter: Waiter, nowMs: number): void {
    this.running++
    this.list.holdings.starts(waiter)
    this.list.bypass.pass(waiter.width)
    waiter.state = 'running'
    waiter.startedMs = nowMs
  }
}
