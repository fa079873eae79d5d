import type { Decision } from '@fairlead/core'
import type { CallHandler, ExecutionContext } from '@nestjs/common'
import type { Observer, Subscriber, Unsubscribable } from 'rxjs'
import type { FairAdmission, Visit } from './admission.js'
import { showVisit } from './visits.js'

/**
 * One run of a handler: asks for its admission, starts it, and hears how it settled.
 *
 * All of it happens on subscription, so that whoever unsubscribes while the request waits takes it out of the line.
 */
export class Handling implements Observer<unknown>, Unsubscribable {
  readonly #admission: FairAdmission
  readonly #context: ExecutionContext
  readonly #handler: CallHandler
  readonly #subscriber: Subscriber<unknown>
  #visit: Visit | undefined = undefined
  #settled = false

  constructor(
    admission: FairAdmission,
    context: ExecutionContext,
    handler: CallHandler,
    subscriber: Subscriber<unknown>,
  ) {
    this.#admission = admission
    this.#context = context
    this.#handler = handler
    this.#subscriber = subscriber
  }

  begin(): void {
    const guarded = this.#admission.guarded(this.#context)
    if (guarded === null) this.#pass()
    else if (guarded === undefined) this.#ask(this.#admission.visit(this.#context))
    else if (guarded.permit !== undefined) this.#proceed(guarded, guarded.permit)
  }

  next(value: unknown): void {
    this.#subscriber.next(value)
  }

  error(error: unknown): void {
    this.#settled = true
    this.#visit?.failed(error)
    this.#subscriber.error(error)
  }

  complete(): void {
    this.#settled = true
    this.#subscriber.complete()
  }

  /** The handler is over: it has completed or failed, or whoever listened to it has left. */
  unsubscribe(): void {
    const visit = this.#visit
    if (visit === undefined) return
    this.#visit = undefined
    // Where no response tells, this is the end of the request as well.
    if (this.#context.getType() !== 'http') visit.responseEnded(!this.#settled)
    visit.handlerSettled()
  }

  #ask(visit: Visit): void {
    const decision = this.#admission.ask(visit)
    if (decision === undefined) this.#pass()
    else if (decision instanceof Promise) this.#wait(visit, decision)
    else this.#proceed(visit, decision)
  }

  #wait(visit: Visit, decision: Promise<Decision>): void {
    // A visit that ends without a permit leaves the line.
    this.#subscriber.add(() => {
      if (visit.permit === undefined) visit.responseEnded(true)
    })
    decision.then((late) => this.#proceed(visit, late)).catch((error: unknown) => this.#subscriber.error(error))
  }

  #proceed(visit: Visit, decision: Decision): void {
    if (decision.admitted && visit.admit(decision)) this.#run(visit)
    else this.#admission.exception(visit, decision).then((exception) => this.#subscriber.error(exception))
  }

  #run(visit: Visit): void {
    this.#visit = visit
    showVisit(this.#context, visit)
    visit.handlerStarted()
    this.#subscriber.add(this)
    this.#subscriber.add(this.#handler.handle().subscribe(this))
  }

  /** The gate does not judge this one. */
  #pass(): void {
    this.#subscriber.add(this.#handler.handle().subscribe(this.#subscriber))
  }
}
