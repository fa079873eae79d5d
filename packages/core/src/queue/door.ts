import type { Refusal } from '../admission/refusal.js'
import type { Hold, Passage, Verdict } from '../admission/stage.js'
import type { Refused } from '../sfq/index.js'
import { UNKNOWN_MS } from './appointments.js'
import type { Durations } from './durations.js'
import type { Floor } from './floor.js'
import type { QueueSettings } from './options.js'
import type { Refusals } from './reasons.js'
import { ROUNDING } from './supply.js'
import { Waiter } from './waiter.js'
import { Wishes } from './wishes.js'

/** Requests of a flow that wait, from which on its next one may be refused because it would wait too long. */
const LONG_BACKLOG = 4
/** Part of its waiting time that a request may be expected to need. */
const TOO_LONG = 0.8
/** Waiting requests per perturbation, at least. */
const PERTURB_EVERY_CALLS = 100

const EXEMPT: Hold = { finish: () => {}, undo: () => {} }

/**
 * What becomes of a request that comes. In this order: it is refused because the room is closed, let pass because it is
 * exempt, refused because its deadline has passed or it is too wide; starts if slots are free and nobody waits before
 * it; is refused because it would wait in vain, or its flow or band has too much waiting; waits.
 */
export class Door {
  came = 0
  exempted = 0
  readonly #settings: QueueSettings
  readonly #wishes: Wishes
  readonly #floor: Floor
  readonly #durations: Durations
  readonly #refusals: Refusals
  #perturbedMs: number
  #callsSince = 0

  constructor(settings: QueueSettings, floor: Floor, durations: Durations, refusals: Refusals, nowMs: number) {
    this.#settings = settings
    this.#wishes = new Wishes(settings)
    this.#floor = floor
    this.#durations = durations
    this.#refusals = refusals
    this.#perturbedMs = nowMs
  }

  /**
   * Answers at once, unless the request has to wait. What is `undefined` is asked of the options' functions. Throws
   * what they throw, and what the capacity throws, and then nothing of the request is kept.
   */
  admit(
    passage: Passage,
    cost: number,
    width: number | undefined,
    bandIndex: number | undefined,
    deadlineMs: number | undefined,
  ): Verdict | Promise<Verdict> {
    const { flow, nowMs } = passage
    // What the options' functions throw must leave no trace, so they are all asked first.
    width ??= this.#wishes.width(passage)
    const { list, supply } = this.#floor
    const band = list.bands.all[bandIndex ?? this.#wishes.band(passage)]!
    deadlineMs ??= this.#wishes.deadlineMs(passage)
    const className = this.#wishes.className(passage)
    const weight = this.#wishes.weight(flow)
    this.came++
    if (list.closed) return this.#refusals.make('closed', UNKNOWN_MS)
    if (passage.exempt) {
      this.exempted++
      return EXEMPT
    }
    if (deadlineMs <= 0) return this.#refusals.make('deadline', UNKNOWN_MS, { deadlineMs })
    const waiter = new Waiter(this.#floor, flow, cost, width, band, className, weight, nowMs)
    try {
      const { maximum } = supply.capacity
      if (width > maximum + ROUNDING)
        return this.#refusals.make('too-wide', Number.POSITIVE_INFINITY, { width, maximum })
      if (list.isDue(nowMs)) this.#floor.wake(nowMs)
      return this.#floor.tryStart(waiter, nowMs) ? waiter : this.#wait(waiter, passage, deadlineMs)
    } catch (error) {
      this.came--
      throw error
    }
  }

  /** Takes a place in the queue, unless there is no point in that. */
  #wait(waiter: Waiter, passage: Passage, deadlineMs: number): Verdict | Promise<Verdict> {
    const nowMs = waiter.arrivedMs
    const expectedMs = deadlineMs === Number.POSITIVE_INFINITY ? 0 : this.#durations.expected(waiter.className)
    const waitMs = Math.min(this.#settings.maxWaitMs, deadlineMs - expectedMs)
    if (waitMs <= 0) return this.#refusals.make('deadline', UNKNOWN_MS, { deadlineMs, expectedMs })
    waiter.startByMs = nowMs + waitMs
    const hopeless = this.#wouldWaitTooLong(waiter, waitMs)
    if (hopeless !== undefined) return hopeless
    const { signal } = passage
    if (signal?.aborted === true) return this.#refusals.make('gone', 0)
    this.#perturbIfDue(nowMs)
    const refused = this.#floor.list.add(waiter, signal, nowMs)
    if (refused !== undefined) return this.#full(waiter, refused, nowMs)
    // Slots may be free: the head was too wide for them, and others may pass it. Or weightOf ended what ran.
    this.#floor.resume(nowMs)
    if (waiter.verdict !== undefined) return waiter.verdict
    return new Promise((resolve) => {
      waiter.resolve = resolve
    })
  }

  #wouldWaitTooLong(waiter: Waiter, waitMs: number): Refusal | undefined {
    const { flow, band, arrivedMs: nowMs } = waiter
    if (this.#settings.newestFirst || band.queue.waiting < LONG_BACKLOG) return undefined
    const perMs = band.drain.perMs(nowMs)
    if (perMs === undefined) return undefined
    const standing = band.queue.standing(flow)
    const { waiting, cost, share } = standing
    const expectedMs = cost / (share * perMs)
    if (waiting < LONG_BACKLOG || expectedMs <= TOO_LONG * waitMs) return undefined
    const detail = { waiting, expectedMs, waitMs, band: band.index }
    return this.#refusals.make('would-wait-too-long', band.comeBackMs(waiter, standing, waitMs, nowMs), detail)
  }

  #full(waiter: Waiter, { refused, waiting, limit, ...standing }: Refused, nowMs: number): Refusal {
    const { band } = waiter
    const detail = { waiting, limit, band: band.index }
    if (refused === 'full') return this.#refusals.make('queue-full', band.comeBackToAllMs(waiter.cost, nowMs), detail)
    return this.#refusals.make('flow-full', band.comeBackMs(waiter, standing, 0, nowMs), detail)
  }

  #perturbIfDue(nowMs: number): void {
    const { perturbEveryMs } = this.#settings
    if (perturbEveryMs === undefined || ++this.#callsSince < PERTURB_EVERY_CALLS) return
    if (nowMs - this.#perturbedMs < perturbEveryMs) return
    this.#perturbedMs = nowMs
    this.#callsSince = 0
    for (const { queue } of this.#floor.list.bands.all) queue.perturb()
  }
}
