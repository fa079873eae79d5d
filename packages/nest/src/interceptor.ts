import { type GateAnswer, runFor } from '@fairlead/core/http'
import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common'
import { Observable, Subscriber } from 'rxjs'
import { FairAdmission, type GuardedVisit } from './admission.js'
import { showVisit } from './context.js'

/**
 * Judges requests after all guards, and keeps the permit until the handler has settled and its response has ended.
 * `FairModule` binds it for all handlers; with `at: 'nowhere'` you bind it: `@UseInterceptors(FairInterceptor)`.
 */
@Injectable()
export class FairInterceptor implements NestInterceptor {
  readonly #admission: FairAdmission

  constructor(@Inject(FairAdmission) admission: FairAdmission) {
    this.#admission = admission
  }

  /** Asks on subscription, so that unsubscribing removes a waiting request from the line. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => this.#begin(context, next, subscriber))
  }

  #begin(context: ExecutionContext, next: CallHandler, subscriber: Subscriber<unknown>): void {
    const guarded = this.#admission.guarded(context)
    const visit = guarded === undefined ? this.#admission.visit(context) : guarded
    const decision = visit ? (visit.permit ?? this.#admission.ask(visit)) : undefined
    if (!visit) next.handle().subscribe(subscriber)
    else if (decision instanceof Promise) this.#wait(context, next, subscriber, visit, decision)
    else this.#proceed(context, next, subscriber, visit, decision)
  }

  #wait(
    context: ExecutionContext,
    next: CallHandler,
    subscriber: Subscriber<unknown>,
    visit: GuardedVisit,
    decision: Promise<GateAnswer>,
  ): void {
    // A visit that ends without a permit leaves the line.
    subscriber.add(() => {
      if (visit.permit === undefined) visit.responseEnded(true)
    })
    decision
      .then((late) => this.#proceed(context, next, subscriber, visit, late))
      .catch((error: unknown) => subscriber.error(error))
  }

  #proceed(
    context: ExecutionContext,
    next: CallHandler,
    subscriber: Subscriber<unknown>,
    visit: GuardedVisit,
    decision: GateAnswer,
  ): void {
    if (decision === undefined) {
      next.handle().subscribe(subscriber)
      return
    }
    if (!decision.admitted || !this.#admission.admit(visit, decision)) {
      // The subscriber has left, and answers instead.
      if (subscriber.closed) return
      this.#admission.refuse(visit, decision).catch((error: unknown) => subscriber.error(error))
      return
    }
    showVisit(context, visit)
    runFor(visit, () => next.handle().subscribe(new Handling(context, visit, subscriber)))
  }
}

/**
 * Passes on a handler's values, keeps its visit for as long as it runs, and tells the visit how it settled.
 *
 * A single `Subscriber`, because `pipe(catchError(…), finalize(…))` would make three.
 */
class Handling extends Subscriber<unknown> {
  readonly #context: ExecutionContext
  readonly #visit: GuardedVisit
  #settled = false

  /** `subscriber` must be open. */
  constructor(context: ExecutionContext, visit: GuardedVisit, subscriber: Subscriber<unknown>) {
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

  /** The handler has ended: it has completed or failed, or its subscriber has left. */
  override unsubscribe(): void {
    if (this.closed) return
    super.unsubscribe()
    // If no response reports the end, this is also the end of the request.
    if (this.#context.getType() !== 'http') this.#visit.responseEnded(!this.#settled)
    this.#visit.handlerSettled()
  }
}
