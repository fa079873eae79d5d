/**
 * Fair admission control for Express 4 and 5.
 *
 * @module @fairlead/express
 */

export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, escrow, fairLimit, fixed, lease, loadShedder, quota, requestQueue } from '@fairlead/core/mechanisms'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
