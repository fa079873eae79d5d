export type { Outcome } from './outcome.js'
export { type Reason, type Refusal, refuse } from './refusal.js'
export type { Hold, Passage, Stage, Verdict } from './stage.js'
