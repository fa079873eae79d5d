export * from './figures.js'
export * from './simulate.js'
