import { type CallHandler, type ExecutionContext, Inject, Injectable, type NestInterceptor } from '@nestjs/common'
import { Observable } from 'rxjs'
import { FairAdmission } from './admission.js'
import { Handling } from './handling.js'

/**
 * Admits what handlers are asked, after all guards, and keeps the permit until the handler has settled and its response
 * has ended. Bound for all handlers by `FairModule`; with `at: 'nowhere'`, by you: `@UseInterceptors(FairInterceptor)`.
 */
@Injectable()
export class FairInterceptor implements NestInterceptor {
  readonly #admission: FairAdmission

  constructor(@Inject(FairAdmission) admission: FairAdmission) {
    this.#admission = admission
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return new Observable((subscriber) => new Handling(this.#admission, context, next, subscriber).begin())
  }
}
