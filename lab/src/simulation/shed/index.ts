export { CollectedHeap, type Memory, PlainMemory, StickyMemory } from './memory.js'
export { byLiveHeap, byMeter, none, RANGE } from './policies.js'
export { type Result, type Scenario, SPIKE, type Stretch, simulate } from './simulate.js'
