/**
 * The gate, FAIR and load shedding, free of any framework. Queues, budgets and leases are entry points of their own.
 *
 * @module @fairlead/core
 */

export type { Ask, Decision, Permit, Quota, Settlement } from './admission/decision.js'
export type { GateEvent, GateListener, GateSnapshot } from './admission/events.js'
export type { Gate } from './admission/gate.js'
export type { Outcome } from './admission/outcome.js'
export { type OverrideChange, type OverrideSnapshot, Overrides, type OverridesOptions } from './admission/overrides.js'
export { type Reason, type Refusal, refuse } from './admission/refusal.js'
export type { Contest, GateSeams, Hold, Mechanism, Passage, Stage, Verdict } from './admission/stage.js'
export type { After, Clock } from './clock.js'
export { createGate, type GateOptions } from './create-gate.js'
export {
  type BlueExplanation,
  type BlueOptions,
  type BluePlace,
  blue,
  type Combine,
  type FairTraffic,
  type FairTuning,
  tuneFair,
} from './fair/blue.js'
export type { ClockExplanation } from './fair/clock/rule.js'
export type { BlueRule, ClockOptions, FairOptions, FairRuleName, FairSeams, SharedOptions } from './fair/options.js'
export { FlowKey, type MakePlacement, type Placement, type Structure } from './fair/placement.js'
export type { FairRefusal } from './fair/rule.js'
export { ClockArbiter } from './fair/shared/arbiter.js'
export type { ClockLink, Sharing } from './fair/shared/report.js'
export { fairStage } from './fair/stage.js'
export type { Talker } from './fair/talkers.js'
export { type FairCounts, type FairExplanations, type FairSnapshot, FairTracker } from './fair/tracker.js'
export { ResourceExhaustedError } from './http/outcome.js'
export { type Flow, MAX_FLOW_LENGTH } from './path.js'
export type { Random } from './random.js'
export { type Curve, type CurveRange, type LogisticOptions, linear, logistic, startOf, step } from './shed/curve.js'
export { LoadShedder, loadShedder, type ShedPermit, type ShedRequest, type ShedSnapshot } from './shed/load-shedder.js'
export type { SignalSnapshot } from './shed/probe.js'
export type { LoadShedderOptions, LoadSignal, ShedOptions, ShedTotals, SignalHost, SignalKind } from './shed/signal.js'
