/** A moving average: of all samples while there are few, then each new one counts for `1 / memory`. */
export class Average {
  readonly #memory: number
  #count = 0
  #value = 0

  constructor(memory: number) {
    this.#memory = memory
  }

  /** The average; 0 before the first sample. */
  get value(): number {
    return this.#value
  }

  add(sample: number): void {
    if (this.#count < this.#memory) this.#count++
    this.#value += (sample - this.#value) / this.#count
  }
}
