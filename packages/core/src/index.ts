/**
 * The gate, FAIR and load shedding, free of any framework. Queues, budgets and leases are entry points of their own.
 *
 * @module @fairlead/core
 */

export * from './admission/index.js'
export type { After, Clock } from './clock.js'
export { createGate, type GateOptions } from './create-gate.js'
export * from './fair/index.js'
export { ResourceExhaustedError } from './http/outcome.js'
export type { Random } from './random.js'
export * from './shed/index.js'
