import type { Chance } from './chance.js'
import type { Timeline } from './timeline.js'

export interface Weather {
  /** A message takes a whole number of seconds up to this, each with equal probability. */
  readonly mostSeconds: number
  /** Part of the requests, and of the answers, that is lost. */
  readonly lost: number
}

export const CALM: Weather = { mostSeconds: 0, lost: 0 }

/** Carries requests and answers. In calm weather both take no time. */
export class Network {
  readonly #timeline: Timeline
  readonly #chance: Chance
  readonly #weather: Weather

  constructor(timeline: Timeline, chance: Chance, weather: Weather) {
    this.#timeline = timeline
    this.#chance = chance
    this.#weather = weather
  }

  /** Delivers a request to `handle`, and its answer to `heard`; or loses either of them. */
  call<A>(handle: () => A, heard: (answer: A) => void): void {
    this.#carry(() => {
      const answer = handle()
      this.#carry(() => heard(answer))
    })
  }

  #carry(arrive: () => void): void {
    const { mostSeconds, lost } = this.#weather
    if (lost > 0 && this.#chance.real() < lost) return
    const seconds = mostSeconds > 0 ? this.#chance.upTo(mostSeconds) : 0
    if (seconds === 0) arrive()
    else this.#timeline.after(seconds, arrive)
  }
}
