export { busyGate } from './busy-gate.js'
