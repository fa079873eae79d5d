export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { type FairMiddleware, type FairMiddlewareOptions, fairMiddleware } from './middleware.js'
