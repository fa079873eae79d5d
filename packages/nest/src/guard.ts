import type { GateAnswer } from '@fairlead/core/http'
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { FairAdmission, type GuardedVisit } from './admission.js'
import { showVisit } from './context.js'

/**
 * Judges HTTP requests before the guards that come after it, so that the answers of these guards count by their status.
 * A guard does not see handlers settle: `FairInterceptor`, if it is bound as well, keeps the permit for as long as they
 * run; without it, permits end with their responses. In other contexts no response would end a permit after a later
 * guard's rejection: there it lets everything pass, and the interceptor judges.
 */
@Injectable()
export class FairGuard implements CanActivate {
  readonly #admission: FairAdmission

  constructor(@Inject(FairAdmission) admission: FairAdmission) {
    this.#admission = admission
  }

  canActivate(context: ExecutionContext): true | Promise<true> {
    const visit = context.getType() === 'http' ? this.#admission.visit(context) : undefined
    if (visit === undefined) return true
    const decision = this.#admission.ask(visit)
    if (decision instanceof Promise) return decision.then((late) => this.#proceed(context, visit, late))
    return this.#proceed(context, visit, decision)
  }

  #proceed(context: ExecutionContext, visit: GuardedVisit, decision: GateAnswer): true | Promise<true> {
    if (decision === undefined) {
      this.#admission.leave(context, null)
      return true
    }
    if (!decision.admitted || !this.#admission.admit(visit, decision)) return this.#admission.refuse(visit, decision)
    showVisit(context, visit)
    this.#admission.leave(context, visit)
    return true
  }
}
