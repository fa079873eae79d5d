/**
 * Fair admission control for `fetch` handlers. An edge bundle contains nothing of Node.
 *
 * @module @fairlead/core/fetch
 */

export { fairOf, isWorkerd } from '../http/context.js'
export { type FairFetch, type FairFetchOptions, fairFetch } from './fair-fetch.js'
/** @internal Shared with the adapter for Hono. */
/** @internal */
export { addressFrom, awake, type Host, isResponse, outerOf, showOnBoth } from './host.js'
/** @internal */
export { type FetchAdmission, type Runtime, runtime } from './runtime/runtime.js'
