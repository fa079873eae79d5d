import type { Aim } from './aims.js'

/** A question to the simulations, with its answer as tables, pictures and data. One file each. */
export interface Figure {
  /** Its name on the command line. */
  readonly name: string
  /** The prefix of its files in `docs/figures`. */
  readonly file: string
  /** Its content, in a sentence. */
  readonly about: string
  /** Source of the published figures; absent if there are none. */
  readonly source?: string
  /** Seeds of the random draws, one run each. Absent if nothing is random. */
  readonly seeds?: readonly number[]
  make(effort: Effort, tell: Tell): Findings | Promise<Findings>
}

/** The amount of simulation. The same effort gives the same findings, to the last digit. */
export interface Effort {
  /** Part of each scenario's own time, above 0. */
  readonly part: number
  /** Seeds at most. */
  readonly seeds: number
  /** Seeds to leave out before those. @default 0 */
  readonly skip?: number
}

/** Reports the present step of the simulation. */
export type Tell = (step: string) => void

export interface Findings {
  /** Published figures, ours, and goals; the table of these comes before the others. */
  readonly aims?: readonly Aim[]
  readonly tables: readonly Table[]
  /** SVG documents, by the suffix of the file's name; `''` for the one with the figure's own name. */
  readonly pictures: Readonly<Record<string, string>>
  /** Plain JSON, the source of tables and pictures. */
  readonly data: unknown
}

export interface Table {
  /** The id by which pages embed it. */
  readonly id?: string
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The effort behind `docs/figures`. */
export const FULL: Effort = { part: 1, seeds: Number.POSITIVE_INFINITY }
