/**
 * The parts that adapters of HTTP frameworks share.
 *
 * @module @fairlead/core/http
 */

/** @internal Option checks for adapters. */
export {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  show,
} from '../options.js'
export { namedFlow } from '../path.js'
/** @internal */
export { isLater } from '../rejection.js'
export { addressFlow, UNKNOWN_ADDRESS } from './address-flow.js'
export { type Caller, fairOf, runFor, showFair } from './context.js'
export { type Framework, type GateAnswer, HttpAdmission } from './http-admission.js'
export { type FairRequest, HttpVisit, type Judge } from './http-visit.js'
export { consoleWarning, type OnWarning } from './mistakes.js'
export type { NodeHead } from './node-admission.js'
export { NodeAdmission, type NodeAnswer, type NodeUpload, type RefusalHead, refuseBody } from './node-admission.js'
export type { EndListener, NodeRequest, NodeResponse, Patience } from './open-response.js'
export {
  type HttpOptions,
  type OnError,
  type RequestOptions,
  type RouteSettings,
  requireHttpOptions,
  requireRouteSettings,
  type TellRateLimit,
} from './options.js'
export { outcomeOf, ResourceExhaustedError, statusOfError } from './outcome.js'
export {
  type Fields,
  type HttpRefusal,
  httpRefusal,
  PROBLEM_JSON,
  rateLimitFields,
  retryAfterSeconds,
  statusOfRefusal,
} from './refusal.js'
export { onResponseEnd, ResponseWatch } from './response-end.js'
