/**
 * What a function of the user's gave that nobody waits for. It may have been async all the same: its rejection goes to
 * `failed`, because one that nobody hears ends the process.
 */
export function onRejection(given: unknown, failed: (error: unknown) => void): void {
  if (isLater(given)) Promise.resolve(given).catch(failed)
}

/** Whether an answer comes later: a promise, or what else can be awaited, such as a query. */
export function isLater<T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> {
  return typeof (answer as PromiseLike<T> | undefined | null)?.then === 'function'
}
