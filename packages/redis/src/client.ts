import { createHash } from 'node:crypto'
import { requireOptions } from '@fairlead/core/internal'

/** The methods of a client of the package `redis` that are called here: a client, a pool, a cluster or a sentinel. */
export interface NodeRedisClient {
  evalSha(sha1: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** The methods of a client of the package `ioredis` that are called here: a `Redis` or a `Cluster`. */
export interface IoRedisClient {
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** The methods of a client of the package `@upstash/redis`, which talks to Redis over HTTP, that are called here. */
export interface UpstashClient {
  evalsha(sha1: string, keys: string[], args: string[]): Promise<unknown>
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
}

/** A client of `redis`, `ioredis` or `@upstash/redis`. Their methods distinguish them, so none of them is imported. */
export type RedisClient = NodeRedisClient | IoRedisClient | UpstashClient

/** A script that Redis runs atomically. */
export interface Script {
  readonly source: string
  readonly sha1: string
}

export function scriptOf(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') }
}

/** Runs a script on some keys by its hash; sends the whole script only to a Redis that does not have it. */
export type RunScript = (script: Script, keys: string[], args: string[]) => Promise<unknown>

/** The checked options of a store. Throws a `TypeError` that names the invalid one. */
export function storeSettings(
  store: string,
  options: { client: RedisClient; prefix?: string },
): { readonly run: RunScript; readonly prefix: string } {
  requireOptions(store, options, ['client', 'prefix'])
  const { client, prefix = 'fairlead' } = options
  const run = scriptRunner(client)
  if (typeof prefix !== 'string') throw new TypeError(`prefix must be a string, got ${typeof prefix}`)
  return { run, prefix }
}

/** Distinguishes the clients by their methods, so none of the packages is imported. Throws for any other object. */
export function scriptRunner(client: unknown): RunScript {
  if (isNodeRedis(client))
    return (script, keys, args) => {
      const options = { keys, arguments: args }
      return unlessMissing(
        () => client.evalSha(script.sha1, options),
        () => client.eval(script.source, options),
      )
    }
  if (isIoRedis(client))
    return (script, keys, args) =>
      unlessMissing(
        () => client.evalsha(script.sha1, keys.length, ...keys, ...args),
        () => client.eval(script.source, keys.length, ...keys, ...args),
      )
  if (isUpstash(client))
    return (script, keys, args) =>
      unlessMissing(
        () => client.evalsha(script.sha1, keys, args),
        () => client.eval(script.source, keys, args),
      )
  throw new TypeError('client must be a client of the package redis (4 or later), ioredis or @upstash/redis')
}

/** Turns a synchronous throw of a client into a rejection. */
async function unlessMissing(call: () => Promise<unknown>, send: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof Error && error.message.includes('NOSCRIPT')) return send()
    throw error
  }
}

function isNodeRedis(client: unknown): client is NodeRedisClient {
  return hasMethod(client, 'evalSha') && hasMethod(client, 'eval')
}

function isIoRedis(client: unknown): client is IoRedisClient {
  return hasMethod(client, 'evalsha') && hasMethod(client, 'eval') && hasMethod(client, 'sendCommand')
}

/** It has the same methods as ioredis, but takes lists, and has no connection to send a command on. */
function isUpstash(client: unknown): client is UpstashClient {
  const hasConnection = hasMethod(client, 'sendCommand') || hasMethod(client, 'send_command')
  return hasMethod(client, 'evalsha') && hasMethod(client, 'eval') && !hasConnection
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
}
