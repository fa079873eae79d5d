export { byWidth } from './by-width.js'
export { PlainRoundRobin } from './plain-round-robin.js'
export { propertyRuns } from './property-runs.js'
export { PublishedPlacement, publishedPlaces, publishedWords } from './published-placement.js'
