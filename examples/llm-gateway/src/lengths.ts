/** Number of answers in the mean: enough to be steady, few enough to follow a client that changes. */
const MEMORY = 32
/** Mean deviations above the mean that are reserved in the pool: about nine answers in ten are no longer. */
const CAUTION = 2
/** Most users and models remembered; the one learned first is forgotten first. */
const MOST_KNOWN = 10_000

interface Known {
  answers: number
  mean: number
  /** Mean absolute deviation of the lengths from the mean. */
  deviation: number
}

/**
 * Learns the lengths of answers, by user and model: they are unknown beforehand, and `max_tokens` is far more than most
 * need.
 */
export class AnswerLengths {
  readonly #known = new Map<string, Known>()

  /** Expected tokens of an answer: the maximum, if nothing is known. */
  expected(key: string, most: number): number {
    const known = this.#known.get(key)
    return known === undefined ? most : Math.max(1, Math.min(most, Math.ceil(known.mean)))
  }

  /** A number of tokens that an answer rarely exceeds. */
  cautious(key: string, most: number): number {
    const known = this.#known.get(key)
    if (known === undefined) return most
    return Math.max(1, Math.min(most, Math.ceil(known.mean + CAUTION * known.deviation)))
  }

  /** Learns from an answer with this many tokens. */
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
