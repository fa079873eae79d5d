/**
 * Fair admission control for Koa 2 and 3.
 *
 * @module @fairlead/koa
 */

export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, escrow, fairLimit, fixed, lease, loadShedder, quota, requestQueue } from '@fairlead/core/mechanisms'
export { type FairMiddleware, type FairMiddlewareOptions, type FairState, fairMiddleware } from './middleware.js'
