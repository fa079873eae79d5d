/**
 * Clocks, random numbers and stages that a test controls. Runs on every runtime, like the core.
 *
 * @module @fairlead/core/testing
 */

export { type LimitStage, type LimitStageOptions, limitStage } from './limit-stage.js'
export { type ManualClock, manualClock } from './manual-clock.js'
export { type ProbedPassage, type ProbeStage, probeStage } from './probe-stage.js'
export { seededRandom } from './seeded-random.js'
export { settled } from './settled.js'
export { World } from './world.js'
