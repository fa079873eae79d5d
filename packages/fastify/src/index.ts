/**
 * Fair admission control for Fastify 4 and 5.
 *
 * @module @fairlead/fastify
 */

export { type FairRequest, type HttpRefusal, ResourceExhaustedError } from '@fairlead/core/http'
export { adaptive, escrow, fairLimit, fixed, lease, loadShedder, quota, requestQueue } from '@fairlead/core/mechanisms'
export { type FairPluginOptions, fairPlugin } from './plugin.js'
export type { FairRoute } from './route.js'
