/**
 * Fair admission control for Express 4 and 5.
 *
 * @module @fairlead/express
 */

export { lease } from '@fairlead/core/doorman'
export { escrow } from '@fairlead/core/escrow'
export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, fixed, requestQueue } from '@fairlead/core/queue'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
