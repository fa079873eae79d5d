export * from './admission/index.js'
export type { After, Clock } from './clock.js'
export * from './fair/index.js'
export type { Random } from './random.js'
