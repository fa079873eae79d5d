/**
 * What adapters of HTTP frameworks share.
 *
 * @module @fairlead/core/http
 */

/** @internal How adapters check options of their own. */
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
export { addressFlow, namedFlow, UNKNOWN_ADDRESS } from './address-flow.js'
export { type Answer, type Framework, HttpAdmission } from './admission.js'
export { type Caller, runFor } from './context.js'
export { fairOf } from './fair-of.js'
export { NodeAdmission, type NodeAnswer } from './node-admission.js'
export {
  type HttpOptions,
  type OnError,
  type RequestOptions,
  requireHttpOptions,
  type TellRateLimit,
} from './options.js'
export { outcomeOf, statusOfError } from './outcome.js'
export { type Fields, rateLimitFields } from './rate-limit-fields.js'
export { type HttpRefusal, httpRefusal, PROBLEM_JSON, retryAfterSeconds, statusOfRefusal } from './refusal.js'
export { type NodeUpload, type RefusalHead, refuseBody } from './refused-body.js'
export { ResourceExhaustedError } from './resource-exhausted-error.js'
export {
  type EndListener,
  type NodeRequest,
  type NodeResponse,
  onResponseEnd,
  type Patience,
  ResponseWatch,
} from './response-end.js'
export type { NodeHead } from './response-head.js'
export { type RouteSettings, requireRouteSettings, withRouteSettings } from './route-settings.js'
export { type FairRequest, HttpVisit, type Judge } from './visit.js'
export { consoleWarning, type OnWarning } from './warnings.js'
