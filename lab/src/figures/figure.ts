import type { Aim } from './aims.js'

/** A question to the simulations, with its answer as tables, pictures and data. One file each. */
export interface Figure {
  /** What it is called on the command line. */
  readonly name: string
  /** How its files in `docs/figures` begin. */
  readonly file: string
  /** What it shows, in a sentence. */
  readonly about: string
  /** Where the published figures come from; absent where there are none. */
  readonly source?: string
  /** What chance is drawn from, one run each. Absent where nothing is left to chance. */
  readonly seeds?: readonly number[]
  make(effort: Effort, tell: Tell): Findings | Promise<Findings>
}

/** How much is simulated. The same effort gives the same findings, to the last digit. */
export interface Effort {
  /** Part of each scenario's own time, above 0. */
  readonly part: number
  /** Seeds at most. */
  readonly seeds: number
  /** Seeds to leave out before those. @default 0 */
  readonly skip?: number
}

/** Says what is being simulated now. */
export type Tell = (step: string) => void

export interface Findings {
  /** Published, ours, and what we want of it; the table of these comes before the others. */
  readonly aims?: readonly Aim[]
  readonly tables: readonly Table[]
  /** SVG documents, by the end of the file's name; `''` for the one that is called like the figure. */
  readonly pictures: Readonly<Record<string, string>>
  /** Plain JSON, from which tables and pictures were made. */
  readonly data: unknown
}

export interface Table {
  /** By which pages embed it. */
  readonly id?: string
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** What stands in `docs/figures`. */
export const FULL: Effort = { part: 1, seeds: Number.POSITIVE_INFINITY }
