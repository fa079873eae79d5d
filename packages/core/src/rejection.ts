/**
 * What a function of the user's gave that nobody waits for. It may have been async all the same: its rejection goes to
 * `failed`, because one that nobody hears ends the process.
 */
export function onRejection(given: unknown, failed: (error: unknown) => void): void {
  if (typeof (given as PromiseLike<unknown> | undefined)?.then === 'function') Promise.resolve(given).catch(failed)
}
