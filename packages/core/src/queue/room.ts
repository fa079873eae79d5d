import type { Refusal } from '../admission/refusal.js'
import type { Passage, Stage, Verdict } from '../admission/stage.js'
import { type Clock, steady } from '../clock.js'
import { requireBoolean, requireInteger, requireText } from '../options.js'
import { LEAST_COST, MOST_COST, requireCost } from '../sfq/options.js'
import { Door } from './door.js'
import { Durations } from './durations.js'
import { Floor } from './floor.js'
import { settingsOf, type WaitingRoomOptions } from './options.js'
import { type QueuePermit, type QueueRequest, RunningRequest } from './permit.js'
import { Refusals, STAGE } from './reasons.js'
import type { WaitingRoomSnapshot } from './snapshot.js'
import { Waiter } from './waiter.js'
import { requireDeadline, requireWidth } from './wishes.js'

/**
 * Where requests wait for capacity, and from which they are let out in fair turns.
 *
 * A request starts at once if slots are free and nobody waits before it; else it takes its place in the fair queue of
 * its band. It leaves exactly once: it starts; its time is up; its signal fires; it is evicted for one of a flow with
 * less; or the room closes. It never starts at or after its time, however late timers are. What left holds nothing.
 *
 * - Time: `maxWaitMs`, or less where a deadline leaves less after the time that such requests run. A request that can
 *   start at once is refused for its deadline only if that has passed: were all refused because they would take too
 *   long, none would ever run and show that they no longer do.
 * - Width: at its turn a request may be too wide for the slots free; see `Bypass`.
 * - Bands: see `Bands`. Exempt requests neither wait nor take slots.
 *
 * A stage of a gate, and useful alone by {@link WaitingRoom.enter}. It has one timer, while something waits, and no
 * work in the background. Starting at once is O(bands); waiting, and leaving, O(log n) where n wait. Memory is in
 * proportion to what waits, and to the flows of which refused clients are to come back within the minute, up to ten
 * thousand in a band. Reasons are listed at {@link QueueReason}.
 */
export class WaitingRoom implements Stage {
  readonly name: 'queue' = STAGE
  readonly onError: 'admit' | 'refuse'
  readonly prompt = true

  readonly #width: number
  readonly #clock: Clock
  readonly #durations = new Durations()
  readonly #refusals = new Refusals()
  readonly #floor: Floor
  readonly #door: Door

  /** Throws a `RangeError` or `TypeError` that names the option and its value. Starts no timer. */
  constructor(options: WaitingRoomOptions) {
    const settings = settingsOf(options)
    const { width, clock, onError } = settings
    this.onError = onError
    this.#width = typeof width === 'number' ? width : 1
    this.#clock = steady(clock)
    this.#floor = new Floor(settings, this.#durations, this.#refusals, this.#clock)
    this.#door = new Door(settings, this.#floor, this.#durations, this.#refusals, this.#clock())
  }

  /** The gate's question. Takes the time from `passage`, and answers at once unless the request has to wait. */
  admit(passage: Passage): Verdict | Promise<Verdict> {
    const cost = Math.min(MOST_COST, Math.max(LEAST_COST, passage.cost))
    return this.#door.admit(passage, cost, undefined, undefined, undefined)
  }

  /**
   * The same without a gate: a permit, or a refusal, or the promise of one of them, which never rejects. Throws what
   * the options' functions throw, and a `RangeError` or `TypeError` that names what is wrong with `request`; then
   * nothing of it is kept.
   */
  enter(request: QueueRequest): QueuePermit | Refusal | Promise<QueuePermit | Refusal> {
    const { flow, cost, width, priority = 0, band, exempt = false, deadlineMs, signal } = request
    requireText('flow', flow)
    if (cost !== undefined) requireCost('cost', cost)
    if (width !== undefined) requireWidth('width', width)
    requireInteger('priority', priority, -2, 2)
    if (band !== undefined) requireInteger('band', band, 0, this.#floor.list.bands.all.length - 1)
    requireBoolean('exempt', exempt)
    if (deadlineMs !== undefined) requireDeadline('deadlineMs', deadlineMs)
    const passage: Passage = {
      flow,
      cost: cost ?? width ?? this.#width,
      resource: undefined,
      priority,
      exempt,
      nowMs: this.#clock(),
      signal,
      credit: undefined,
    }
    if (signal?.aborted === true) {
      this.#door.came++
      return this.#refusals.make('gone', 0)
    }
    const verdict = this.#door.admit(passage, passage.cost, width, band, deadlineMs)
    return verdict instanceof Promise ? verdict.then((late) => this.#show(late, flow)) : this.#show(verdict, flow)
  }

  /** Plain JSON for people, metrics and pages. */
  snapshot(): WaitingRoomSnapshot {
    const nowMs = this.#clock()
    const { came, exempted } = this.#door
    const { list, supply, running, startedAtOnce, startedLater } = this.#floor
    const { head, passed } = list.bypass
    return {
      closed: list.closed,
      came,
      exempted,
      startedAtOnce,
      startedLater,
      refused: this.#refusals.count,
      refusedBy: this.#refusals.byReason(),
      waiting: list.size,
      running,
      durationMs: this.#durations.mean,
      passing: head && { width: head.width, passed },
      capacityErrors: supply.errors,
      bands: list.bands.all.map((band) => {
        const perMs = band.drain.perMs(nowMs)
        return {
          waiting: band.waiting,
          credit: band.credit,
          drainPerSecond: perMs === undefined ? undefined : 1_000 * perMs,
          queue: band.queue.snapshot(),
        }
      }),
      capacity: supply.capacity.snapshot(),
    }
  }

  /** Turns away what has waited for too long, as the room's timer does; see `gate.wake()`. */
  wake(nowMs: number): void {
    this.#floor.wake(nowMs)
  }

  /** Refuses what waits and what comes, with reason `closed`. What runs may still finish. Closing twice is no error. */
  close(): void {
    if (!this.#floor.list.closed) this.#floor.close(this.#clock())
  }

  #show(verdict: Verdict, flow: string): QueuePermit | Refusal {
    if (verdict instanceof Waiter) return new RunningRequest(verdict, this.#clock)
    if (verdict !== undefined && 'admitted' in verdict) return verdict
    return { admitted: true, flow, waitedMs: 0, finish: () => {} }
  }
}
