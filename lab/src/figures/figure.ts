/** A question to the simulations, with its answer as tables, pictures and data. One file each. */
export interface Figure {
  /** What it is called on the command line. */
  readonly name: string
  /** How its files in `docs/figures` begin. */
  readonly file: string
  /** What it shows, in a sentence. */
  readonly about: string
  make(effort: Effort, tell: Tell): Findings | Promise<Findings>
}

/** How much is simulated. The same effort gives the same findings, to the last digit. */
export interface Effort {
  /** Part of each scenario's own time, above 0. */
  readonly part: number
  /** Seeds at most. */
  readonly seeds: number
}

/** Says what is being simulated now. */
export type Tell = (step: string) => void

export interface Findings {
  readonly tables: readonly Table[]
  /** SVG documents, by the end of the file's name; `''` for the one that is called like the figure. */
  readonly pictures: Readonly<Record<string, string>>
  /** Plain JSON, from which tables and pictures were made. */
  readonly data: unknown
}

export interface Table {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** What stands in `docs/figures`. */
export const FULL: Effort = { part: 1, seeds: Number.POSITIVE_INFINITY }
