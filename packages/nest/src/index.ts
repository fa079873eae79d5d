/**
 * Fair admission control for Nest 10, 11 and 12, on Express and Fastify.
 *
 * @module @fairlead/nest
 */

export type { Gate } from '@fairlead/core'
export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, escrow, fairLimit, fixed, lease, loadShedder, quota, requestQueue } from '@fairlead/core/mechanisms'
export type { Exchange } from './context.js'
export type { FairSettings } from './decorators.js'
export { FAIR_GATE, Fair, FairPermit, InjectGate, SkipFair } from './decorators.js'
export { FairException } from './exception.js'
export { FairGuard } from './guard.js'
export { FairInterceptor } from './interceptor.js'
export { FairModule } from './module.js'
export type { At, FairAsyncOptions, FairModuleOptions } from './options.js'
