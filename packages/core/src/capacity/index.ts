export { AdaptiveCapacity, type AdaptiveOptions, type AdaptiveSnapshot, adaptive } from './adaptive-capacity.js'
export type { Capacity } from './capacity.js'
export { FixedCapacity, type FixedSnapshot, fixed } from './fixed.js'
export { PausableCapacity, pausable } from './pausable-capacity.js'
