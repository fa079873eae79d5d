/**
 * Fair admission control for Hono, on Node, Bun, Deno and workerd.
 *
 * @module @fairlead/hono
 */

export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
