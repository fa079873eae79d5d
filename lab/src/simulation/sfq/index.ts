export * from './disciplines.js'
export * from './isolation.js'
