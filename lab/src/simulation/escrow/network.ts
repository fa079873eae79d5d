import type { Random } from '@fairlead/core'
import { type LeaseAnswer, type LeaseCall, type PoolStore, PoolStoreError } from '@fairlead/core/escrow'
import type { Machine } from './machine.js'
import type { Timeline } from './timeline.js'

/** Delays and losses of calls to the store. */
export interface Weather {
  /** Least and largest round trip. */
  roundTripMs: readonly [number, number]
  /** Share of the calls that never arrive, and of those whose answer is lost. */
  requestsLost: number
  answersLost: number
  /** Share of the answers that are delayed by this. */
  late: number
  lateMs: number
}

/** A store that can lose its state. */
export class Site {
  calls = 0
  /** It does not answer while this is true; calls are lost. */
  away = false
  readonly #timeline: Timeline
  readonly #storeOf: (nowMs: () => number) => PoolStore
  readonly #log: { readonly atMs: number; readonly call: LeaseCall }[] = []
  #replayMs: number | undefined
  #store: PoolStore

  constructor(timeline: Timeline, storeOf: (nowMs: () => number) => PoolStore) {
    this.#timeline = timeline
    this.#storeOf = storeOf
    this.#store = this.#empty()
  }

  lease(call: LeaseCall): LeaseAnswer {
    this.#log.push({ atMs: this.#timeline.nowMs, call })
    // The store lives in the same process here, so its answer is not a promise.
    return this.#store.lease(call) as LeaseAnswer
  }

  /** Restores the state at `atMs`; by default an empty one. */
  goBackTo(atMs = -1): void {
    this.#store = this.#empty()
    const known = this.#log.filter((entry) => entry.atMs <= atMs)
    for (const entry of known) {
      this.#replayMs = entry.atMs
      this.#store.lease(entry.call)
    }
    this.#replayMs = undefined
    this.#log.splice(0, this.#log.length, ...known)
  }

  #empty(): PoolStore {
    return this.#storeOf(() => this.#replayMs ?? this.#timeline.nowMs)
  }
}

/** The store as one process sees it, through a network with weather. */
export class DistantStore implements PoolStore {
  readonly #site: Site
  readonly #timeline: Timeline
  readonly #machine: Machine
  readonly #weather: Weather
  readonly #random: Random
  /** Time until which there is no connection. */
  #brokenUntilMs = 0
  readonly #breaks: Set<() => void> = new Set()

  constructor(site: Site, timeline: Timeline, machine: Machine, weather: Weather, random: Random) {
    this.#site = site
    this.#timeline = timeline
    this.#machine = machine
    this.#weather = weather
    this.#random = random
  }

  /** Breaks the connection: calls on their way fail, later ones wait for a new connection. */
  breakFor(ms: number): void {
    this.#brokenUntilMs = this.#timeline.nowMs + ms
    for (const breaks of this.#breaks) breaks()
    this.#breaks.clear()
  }

  lease(call: LeaseCall): Promise<LeaseAnswer> {
    const { roundTripMs, requestsLost, answersLost, late, lateMs } = this.#weather
    const random = this.#random
    const tripMs = (roundTripMs[0] + (roundTripMs[1] - roundTripMs[0]) * random()) / 2
    const fate = random()
    const backMs = tripMs + (random() < late ? lateMs : 0)
    const site = this.#site
    site.calls++
    return new Promise((resolve, reject) => {
      if (site.away || fate < requestsLost) return
      let isBroken = false
      const breaks = (): void => {
        isBroken = true
        this.#arrive(0, () => reject(new PoolStoreError('network', 'the connection is broken')))
      }
      // A call that was sent before the break has left this process, and may or may not be executed.
      const sentMs = Math.max(this.#timeline.nowMs, this.#brokenUntilMs)
      this.#timeline.at(sentMs, () => {
        if (!this.#machine.isAlive) return
        this.#breaks.add(breaks)
        this.#timeline.at(sentMs + tripMs, () => {
          if (site.away || isBroken) return
          const answer = site.lease(call)
          if (fate < requestsLost + answersLost) return
          this.#arrive(backMs, () => {
            if (isBroken) return
            this.#breaks.delete(breaks)
            resolve(answer)
          })
        })
      })
    })
  }

  #arrive(afterMs: number, fn: () => void): void {
    this.#machine.arrive(this.#timeline.nowMs + afterMs, fn)
  }
}
