/**
 * The gate and all its mechanisms, free of any framework.
 *
 * @module @fairlead/core
 */

export * from './admission/index.js'
export * from './capacity/index.js'
export type { After, Clock } from './clock.js'
export { createGate, type GateOptions } from './create-gate.js'
export * from './escrow/index.js'
export * from './escrow/leased/index.js'
export * from './escrow/pool/index.js'
export * from './fair/index.js'
export { ResourceExhaustedError } from './http/resource-exhausted-error.js'
export * from './lease/index.js'
export * from './queue/index.js'
export type { Random } from './random.js'
export * from './sfq/index.js'
export * from './shed/index.js'
