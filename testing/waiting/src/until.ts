import { setTimeout as pause } from 'node:timers/promises'

/** Longest wait for an expected event: far longer than it takes, also on a busy machine. */
const WATCHDOG_MS = 90_000

/**
 * Polls `look` until it returns a value. An error that it returns is the reason why there is no value yet; an error
 * that it throws ends the wait at once: a condition that must always be true may be expected in it, and is checked at
 * each poll.
 *
 * Rejects, naming `what`, if there is never a value.
 */
export async function until<T>(
  what: string,
  look: () => T | Error | undefined | false | Promise<T | Error | undefined | false>,
  withinMs: number = WATCHDOG_MS,
): Promise<T> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false && !(seen instanceof Error)) return seen
    if (performance.now() > endMs) throw new Error(`it never happened: ${what}`, { cause: seen || undefined })
    await pause(20)
  }
}

/** For a look: the value of a call, or its error, as calls may fail for a while. */
export async function attempt<T>(call: T | PromiseLike<T>): Promise<T | Error> {
  try {
    return await call
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
