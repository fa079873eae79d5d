export { Heap } from './heap.js'
export * from './scenarios.js'
export * from './service.js'
export * from './simulate.js'
