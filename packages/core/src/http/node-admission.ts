import type { Permit } from '../admission/decision.js'
import { type Framework, HttpAdmission } from './admission.js'
import type { HttpOptions } from './options.js'
import { type NodeRequest, type NodeResponse, onResponseEnd, PATIENCE, type Patience } from './response-end.js'
import { type NodeHead, onResponseHead } from './response-head.js'
import type { HttpVisit } from './visit.js'

/** {@link HttpAdmission} where requests and responses are Node's: it finds out by itself how they end. */
export class NodeAdmission<Target extends readonly unknown[]> extends HttpAdmission<Target> {
  readonly #patience: Patience

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Target>, options: HttpOptions<Target>) {
    super(framework, options)
    const { clientTimeoutMs = PATIENCE.clientTimeoutMs, slowBodyMs = PATIENCE.slowBodyMs } = options
    this.#patience = { clientTimeoutMs, slowBodyMs }
  }

  /** Lets a visit hear how its response ends; {@link ask} after that. */
  watch(visit: HttpVisit<Target>, request: NodeRequest, response: NodeResponse): void {
    visit.turn = onResponseEnd(request, response, visit, this.#patience)
  }

  /** Sees to it that a response tells {@link fields}, if there are any, whoever writes its head. */
  tell(permit: Permit, response: NodeHead): void {
    if (this.fields(permit) !== undefined) onResponseHead(response, (status) => this.fields(permit, status))
  }
}
