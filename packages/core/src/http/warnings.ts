/** Where an adapter says what it could not say to anybody else. `cause` is the error behind it, where there is one. */
export type OnWarning = (message: string, cause?: unknown) => void

const MOST = 20

/** The console, where there is one: the default of the option `onWarning`. */
export const consoleWarning: OnWarning = (message, cause) => {
  // biome-ignore lint/suspicious/noConsole: the declared place for what nobody else can be told
  globalThis.console?.warn(message, ...(cause === undefined ? [] : [cause]))
}

/**
 * Says each thing once, and at most 20 things: a warning that comes with every request is an outage of its own.
 * A listener that throws harms nothing.
 */
export class Warnings {
  readonly #listener: OnWarning
  readonly #said = new Set<string>()

  constructor(listener: OnWarning) {
    this.#listener = listener
  }

  say(message: string, cause?: unknown): void {
    if (this.#said.size >= MOST || this.#said.has(message)) return
    this.#said.add(message)
    try {
      this.#listener(message, cause)
    } catch {
      // Nobody is left to tell.
    }
  }
}
