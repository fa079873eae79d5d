export { type RedisServer, type RedisServerOptions, startRedis, withRedisUrl } from './redis.js'
