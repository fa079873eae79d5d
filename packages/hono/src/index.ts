/**
 * Fair admission control for Hono, on Node, Bun, Deno and workerd.
 *
 * @module @fairlead/hono
 */

export { lease } from '@fairlead/core/doorman'
export { escrow } from '@fairlead/core/escrow'
export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, fixed, requestQueue } from '@fairlead/core/queue'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
