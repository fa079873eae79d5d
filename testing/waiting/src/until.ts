import { setTimeout as pause } from 'node:timers/promises'

/** Longest wait for what must happen: far longer than it takes, also on a busy machine. */
const WATCHDOG_MS = 90_000

/**
 * What `look` gives as soon as that is something. An error that it gives is why it sees nothing yet; one that it throws
 * ends the wait at once: what must be true all the time may be expected in it, and is at each look.
 *
 * Rejects, naming `what`, when it does not happen at all.
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

/** For a look: what a call comes to, or the error that it fails with, as it may for a while. */
export async function attempt<T>(call: T | PromiseLike<T>): Promise<T | Error> {
  try {
    return await call
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
