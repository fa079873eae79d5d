import type { Passage } from '../admission/stage.js'
import { requireInteger } from '../options.js'
import { bandOfPriority, type QueueSettings, requireClass, requireDeadline, requireWidth } from './options.js'

/** What a request wants, by the room's options. Throws what their functions throw, or says what is wrong. */
export class Wishes {
  readonly #settings: QueueSettings

  constructor(settings: QueueSettings) {
    this.#settings = settings
  }

  /** Slots that it takes. */
  width(passage: Passage): number {
    const { width } = this.#settings
    if (typeof width === 'number') return width
    const given = width(passage)
    requireWidth('width()', given)
    return given
  }

  /** Index of its band. */
  band(passage: Passage): number {
    const { bandOf, minShares } = this.#settings
    if (bandOf === undefined) return bandOfPriority(passage.priority, minShares.length)
    const band = bandOf(passage)
    requireInteger('bandOf()', band, 0, minShares.length - 1)
    return band
  }

  /** Milliseconds to its deadline; infinite if it has none. */
  deadlineMs(passage: Passage): number {
    const deadlineMs = this.#settings.deadlineMsOf?.(passage)
    if (deadlineMs === undefined) return Number.POSITIVE_INFINITY
    requireDeadline('deadlineMsOf()', deadlineMs)
    return deadlineMs
  }

  /** The class by which its duration is known. */
  className(passage: Passage): string {
    const { classOf } = this.#settings
    if (classOf === undefined) return ''
    const name = classOf(passage)
    requireClass('classOf()', name)
    return name
  }
}
