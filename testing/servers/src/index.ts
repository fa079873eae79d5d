export { freePort } from './free-port.js'
export { type RedisServer, type RedisServerOptions, startRedis, withRedisUrl } from './redis.js'
