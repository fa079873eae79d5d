/**
 * Clocks, random numbers and stages that a test controls. Runs on every runtime, like the core.
 *
 * @module @fairlead/core/testing
 */

export { type ManualClock, manualClock } from './manual-clock.js'
export { seededRandom } from './seeded-random.js'
export {
  type LimitStage,
  type LimitStageOptions,
  limitStage,
  type ProbedPassage,
  type ProbeStage,
  probeStage,
} from './stages.js'
export { settled, World } from './world.js'
