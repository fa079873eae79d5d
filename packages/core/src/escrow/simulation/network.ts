import type { Random } from '../../random.js'
import type { LeaseAnswer, LeaseCall, PoolStore } from '../pool/store.js'
import type { Timeline } from './timeline.js'

/** What befalls calls on their way to the store. */
export interface Weather {
  /** Least and largest round trip. */
  roundTripMs: readonly [number, number]
  /** Share of the calls that never arrive, and of those whose answer is lost. */
  requestsLost: number
  answersLost: number
  /** Share of the answers that come so much later. */
  late: number
  lateMs: number
}

/** A store, seen through a network with weather. */
export class DistantStore implements PoolStore {
  readonly #store: PoolStore
  readonly #timeline: Timeline
  readonly #weather: Weather
  readonly #random: Random
  /** The store does not answer while this is true; calls are lost. */
  away = false
  calls = 0

  constructor(store: PoolStore, timeline: Timeline, weather: Weather, random: Random) {
    this.#store = store
    this.#timeline = timeline
    this.#weather = weather
    this.#random = random
  }

  lease(call: LeaseCall): Promise<LeaseAnswer> {
    const { roundTripMs, requestsLost, answersLost, late, lateMs } = this.#weather
    const random = this.#random
    const tripMs = (roundTripMs[0] + (roundTripMs[1] - roundTripMs[0]) * random()) / 2
    const fate = random()
    const backMs = tripMs + (random() < late ? lateMs : 0)
    this.calls++
    return new Promise((resolve) => {
      if (this.away || fate < requestsLost) return
      this.#timeline.at(this.#timeline.nowMs + tripMs, () => {
        if (this.away) return
        // The store lives in the same process here, so its answer is no promise.
        const answer = this.#store.lease(call) as LeaseAnswer
        if (fate < requestsLost + answersLost) return
        this.#timeline.at(this.#timeline.nowMs + backMs, () => resolve(answer))
      })
    })
  }
}
