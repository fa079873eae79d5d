/**
 * Fair admission control for Koa 2 and 3.
 *
 * @module @fairlead/koa
 */

export { lease } from '@fairlead/core/doorman'
export { escrow } from '@fairlead/core/escrow'
export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, fixed, requestQueue } from '@fairlead/core/queue'
export { type FairMiddleware, type FairMiddlewareOptions, type FairState, fairMiddleware } from './middleware.js'
