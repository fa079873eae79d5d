/**
 * One budget for a fleet, on Postgres.
 *
 * @module @fairlead/postgres
 */

export { type PostgresClient, PostgresPoolStore, type PostgresPoolStoreOptions } from './pool-store.js'
