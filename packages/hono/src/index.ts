/**
 * Fair admission control for Hono, on Node, Bun, Deno and workerd.
 *
 * @module @fairlead/hono
 */

export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, escrow, fairLimit, fixed, lease, loadShedder, quota, requestQueue } from '@fairlead/core/mechanisms'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
