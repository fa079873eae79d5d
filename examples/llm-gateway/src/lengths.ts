/** Answers over which a mean is taken: enough to be steady, few enough to follow a client that changes. */
const MEMORY = 32
/** Mean deviations above the mean that are kept free in the pool: about nine answers in ten are no longer. */
const CAUTION = 2
/** Users and models that are remembered; the one that was learnt of first is forgotten first. */
const MOST_KNOWN = 10_000

interface Known {
  answers: number
  mean: number
  /** Mean of how far answers were from the mean. */
  deviation: number
}

/** Learns how long answers are, by user and model: nobody knows beforehand, and `max_tokens` is far more than most need. */
export class AnswerLengths {
  readonly #known = new Map<string, Known>()

  /** Tokens that an answer is expected to have: all that it may have, where nothing is known. */
  expected(key: string, most: number): number {
    const known = this.#known.get(key)
    return known === undefined ? most : Math.max(1, Math.min(most, Math.ceil(known.mean)))
  }

  /** Tokens that it hardly exceeds. */
  cautious(key: string, most: number): number {
    const known = this.#known.get(key)
    if (known === undefined) return most
    return Math.max(1, Math.min(most, Math.ceil(known.mean + CAUTION * known.deviation)))
  }

  /** An answer had this many tokens. */
  learn(key: string, tokens: number): void {
    let known = this.#known.get(key)
    if (known === undefined) {
      if (this.#known.size >= MOST_KNOWN) this.#known.delete(this.#known.keys().next().value!)
      known = { answers: 0, mean: tokens, deviation: 0 }
      this.#known.set(key, known)
    }
    known.answers = Math.min(MEMORY, known.answers + 1)
    known.deviation += (Math.abs(tokens - known.mean) - known.deviation) / known.answers
    known.mean += (tokens - known.mean) / known.answers
  }
}
