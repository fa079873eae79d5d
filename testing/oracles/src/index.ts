export { PlainRoundRobin } from './plain-round-robin.js'
export { propertyRuns } from './property-runs.js'
