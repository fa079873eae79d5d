import type { Passage } from '../admission/stage.js'
import { requireAbove, requireInteger, requireNumber, requireText } from '../options.js'
import { weightFrom } from '../sfq/options.js'
import type { QueueSettings } from './options.js'

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
    requireBand('bandOf()', band, minShares.length)
    return band
  }

  /** Milliseconds to its deadline; infinite if it has none. */
  deadlineMs(passage: Passage): number {
    const deadlineMs = this.#settings.deadlineMsOf?.(passage)
    if (deadlineMs === undefined) return Number.POSITIVE_INFINITY
    requireDeadline('deadlineMsOf()', deadlineMs)
    return deadlineMs
  }

  /** Its flow's share relative to others. */
  weight(flow: string): number {
    const { weightOf } = this.#settings.fairQueue
    return weightOf === undefined ? 1 : weightFrom(weightOf, flow)
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

/** Checks for slots that a request may take. */
export function requireWidth(name: string, width: unknown): void {
  requireAbove(name, width, 0)
}

/** Checks for milliseconds to a deadline: any number, even infinite, or one that has passed. */
export function requireDeadline(name: string, value: unknown): void {
  if (typeof value === 'number' && !Number.isNaN(value)) return
  requireNumber(name, value, Number.NEGATIVE_INFINITY)
}

/** Checks for the index of one of so many bands. */
export function requireBand(name: string, band: unknown, bands: number): void {
  requireInteger(name, band, 0, bands - 1)
}

/** Checks for the name of a class. */
export function requireClass(name: string, value: unknown): void {
  requireText(name, value)
}

/** The band of a priority from -2 to 2, where there are so many bands. */
export function bandOfPriority(priority: number, bands: number): number {
  return Math.floor(((2 - priority) * bands) / 5)
}
