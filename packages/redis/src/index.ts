/**
 * One budget for a fleet, on Redis.
 *
 * @module @fairlead/redis
 */

export type { IoRedisClient, NodeRedisClient, RedisClient, UpstashClient } from './client.js'
export { RedisPoolStore, type RedisPoolStoreOptions } from './pool-store.js'
