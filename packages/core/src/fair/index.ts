export { FlowKey } from './placement.js'
export type { Combine } from './sketch.js'
export { fairStage } from './stage.js'
export {
  type FairExplanation,
  type FairOptions,
  type FairPlace,
  type FairSeams,
  type FairSnapshot,
  FairTracker,
} from './tracker.js'
export { type FairTraffic, type FairTuning, tuneFair } from './tuning.js'
