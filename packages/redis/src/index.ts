/**
 * One budget and one sense of fairness for a fleet, on Redis.
 *
 * @module @fairlead/redis
 */

export type { IoRedisClient, NodeRedisClient, RedisClient, UpstashClient } from './client.js'
export { RedisPoolStore, type RedisPoolStoreOptions } from './pool-store.js'
export { type RedisFleet, type RedisFleetOptions, redisFleet } from './redis-fleet.js'
