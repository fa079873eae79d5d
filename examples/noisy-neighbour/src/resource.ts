/** The scarce resource of the handler. */
export interface Resource {
  /** Uses it for one request. Rejects with {@link ExhaustedError} if it is exhausted. */
  use(): Promise<void>
  /** Its present state, as plain JSON. */
  snapshot(): Readonly<Record<string, number>>
}

/** The resource is exhausted: the handler answers 503. */
export class ExhaustedError extends Error {
  override readonly name = 'ExhaustedError'
}
