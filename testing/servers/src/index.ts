export { freePort } from './free-port.js'
export { type PostgresServer, startPostgres } from './postgres.js'
export { promtool } from './promtool.js'
export { type RedisServer, type RedisServerOptions, startRedis, withRedisUrl } from './redis.js'
