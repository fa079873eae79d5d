/**
 * The functions that make a gate's mechanisms, without the rest of their entry points: adapters re-export these.
 *
 * @module @fairlead/core/mechanisms
 */

export { adaptive } from './capacity/adaptive-capacity.js'
export { fixed } from './capacity/fixed.js'
export { lease } from './doorman/stage.js'
export { escrow } from './escrow/mechanism.js'
export { fairLimit } from './fair-limit.js'
export { requestQueue } from './queue/request-queue.js'
export { quota } from './quota/stage.js'
export { loadShedder } from './shed/load-shedder.js'
