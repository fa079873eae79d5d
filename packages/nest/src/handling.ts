import type { ExecutionContext } from '@nestjs/common'
import { Subscriber } from 'rxjs'
import type { Visit } from './admission.js'

/**
 * Passes on what a handler says, keeps its visit for as long as it runs, and tells the visit how it settled.
 *
 * A `Subscriber` of its own, because what `pipe(catchError(…), finalize(…))` puts in its place is three of them.
 */
export class Handling extends Subscriber<unknown> {
  readonly #context: ExecutionContext
  readonly #visit: Visit
  #settled = false

  /** `subscriber` must be open. */
  constructor(context: ExecutionContext, visit: Visit, subscriber: Subscriber<unknown>) {
    super(subscriber)
    this.#context = context
    this.#visit = visit
    visit.handlerStarted()
  }

  override error(error: unknown): void {
    this.#settled = true
    this.#visit.failed(error)
    super.error(error)
  }

  override complete(): void {
    this.#settled = true
    super.complete()
  }

  /** The handler is over: it has completed or failed, or whoever listened to it has left. */
  override unsubscribe(): void {
    if (this.closed) return
    super.unsubscribe()
    // Where no response tells, this is the end of the request as well.
    if (this.#context.getType() !== 'http') this.#visit.responseEnded(!this.#settled)
    this.#visit.handlerSettled()
  }
}
