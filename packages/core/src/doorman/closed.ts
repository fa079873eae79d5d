/** Turns away whoever waits for a lease that is closed, or asks one for more. */
export class LeaseClosedError extends Error {
  override readonly name: string = 'LeaseClosedError'
  /** The resource. */
  readonly resourceId: string

  constructor(resourceId: string) {
    super(`the lease of ${resourceId} is closed`)
    this.resourceId = resourceId
  }
}
