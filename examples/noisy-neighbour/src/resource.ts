/** The scarce thing that the handler needs. */
export interface Resource {
  /** Uses it for one request. Rejects with {@link ExhaustedError} if there is none to be had. */
  use(): Promise<void>
  /** Its present state, as plain JSON. */
  snapshot(): Readonly<Record<string, number>>
}

/** The resource is used up: the handler answers 503. */
export class ExhaustedError extends Error {
  override readonly name = 'ExhaustedError'
}
