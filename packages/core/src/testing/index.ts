/**
 * Time, chance and stages that a test has in its hand. Needs nothing but the language: it runs wherever the core does.
 *
 * @module @fairlead/core/testing
 */

export { type LimitStage, type LimitStageOptions, limitStage } from './limit-stage.js'
export { type ManualClock, manualClock } from './manual-clock.js'
export { type ProbedPassage, type ProbeStage, probeStage } from './probe-stage.js'
export { seededRandom } from './seeded-random.js'
export { settled } from './settled.js'
export { World } from './world.js'
