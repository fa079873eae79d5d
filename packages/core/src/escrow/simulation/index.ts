export * from './clients.js'
export * from './fleet.js'
export * from './network.js'
export * from './regions.js'
