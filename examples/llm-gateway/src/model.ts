import { setTimeout as sleep } from 'node:timers/promises'

/** What a client asks of the model. */
export interface Chat {
  readonly prompt: string
  /** The answer is cut off after this number of tokens. */
  readonly maxTokens: number
}

/** Tokens at a time, and how long the model thinks about them. */
const PIECE = 10
const PIECE_MS = 1

/** The model of this example counts words. A real one has a tokenizer, or tells afterwards what it has counted. */
export function tokensOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean)
}

/** A model that repeats its prompt, and says in the end, or when it was stopped, how many tokens that took. */
export class Answer implements AsyncIterable<string> {
  /** Tokens read and written so far. */
  usage: number
  readonly #tokens: readonly string[]
  readonly #signal: AbortSignal | undefined

  constructor({ prompt, maxTokens }: Chat, signal: AbortSignal | undefined) {
    const tokens = tokensOf(prompt)
    this.usage = tokens.length
    this.#tokens = tokens.slice(0, maxTokens)
    this.#signal = signal
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (let at = 0; at < this.#tokens.length; at += PIECE) {
      await sleep(PIECE_MS, undefined, { signal: this.#signal })
      const piece = this.#tokens.slice(at, at + PIECE)
      this.usage += piece.length
      yield piece.join(' ')
    }
  }
}
