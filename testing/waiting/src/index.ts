export { eventually } from './eventually.js'
export { attempt, until } from './until.js'
