/** A value, or a promise of it. */
export type NowOrLater<T> = T | Promise<T>

/**
 * Handles the result of a user's function that is not awaited. The function may still be async: its rejection goes to
 * `failed`, because an unhandled one would end the process.
 */
export function onRejection(given: unknown, failed: (error: unknown) => void): void {
  if (isLater(given)) Promise.resolve(given).catch(failed)
}

/** True for a promise or any other thenable, such as a query. */
export function isLater<T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> {
  return typeof (answer as PromiseLike<T> | undefined | null)?.then === 'function'
}

/** `next` of an answer: at once, or when it has come. */
export function andThen<T, R>(answer: NowOrLater<T>, next: (answer: T) => NowOrLater<R>): NowOrLater<R> {
  return answer instanceof Promise ? answer.then(next) : next(answer)
}

/** The same answer. If it is a promise, by mistake or because nobody waits for it, its rejection means nothing. */
export function heard<T>(answer: T): T {
  onRejection(answer, () => {})
  return answer
}
