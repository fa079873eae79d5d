import { Average } from './average.js'

/** Requests over which durations are averaged. */
const MEMORY = 20
/** Classes that are told apart; the rest share one average. */
const MOST_CLASSES = 1_000

/** How long requests run, by class: moving averages of those that succeeded. */
export class Durations {
  readonly #classes = new Map<string, Average>()
  readonly #others = new Average(MEMORY)
  readonly #all = new Average(MEMORY)

  /** Mean duration over all classes, in milliseconds; 0 until known. */
  get mean(): number {
    return this.#all.value
  }

  /** Mean duration of a class, in milliseconds; 0 until known. */
  expected(name: string): number {
    return this.#of(name).value
  }

  learn(name: string, durationMs: number): void {
    this.#all.add(durationMs)
    if (!this.#classes.has(name) && this.#classes.size < MOST_CLASSES) this.#classes.set(name, new Average(MEMORY))
    this.#of(name).add(durationMs)
  }

  #of(name: string): Average {
    return this.#classes.get(name) ?? this.#others
  }
}
