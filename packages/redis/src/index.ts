/**
 * Shared fairness, shared budgets, and quotas per key, for a fleet on Redis.
 *
 * @module @fairlead/redis
 */

export type { IoRedisClient, NodeRedisClient, RedisClient, UpstashClient } from './client.js'
export { RedisPoolStore, type RedisPoolStoreOptions } from './pool-store.js'
export { RedisQuotaStore, type RedisQuotaStoreOptions } from './quota-store.js'
export { type RedisFleet, type RedisFleetOptions, redisFleet } from './redis-fleet.js'
