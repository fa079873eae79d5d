import { type LeaseAnswer, type LeaseCall, type PoolStore, poolTerms, requireLease } from '@fairlead/core'
import { type RedisClient, type RunScript, type Script, scriptOf, scriptRunner } from './client.js'
import { LEASE_SCRIPT } from './lease-script.js'

const LEASE: Script = scriptOf(LEASE_SCRIPT)

/** Options of {@link RedisPoolStore}. */
export interface RedisPoolStoreOptions {
  /** A connected client of the package `redis` or `ioredis`. It stays yours: the store never closes it. */
  client: RedisClient
  /** Begins the name of every key. @default 'fairlead' */
  prefix?: string
}

/**
 * Pools in Redis, for a fleet: one key per pool, one script call per lease, by Redis's own clock.
 *
 * The key is `<prefix>:pool:{<name>}:<windowMs>`, so it is whole on one node of a cluster, and it expires by itself.
 * Needs Redis 5 or later, or Valkey. A lease costs Redis O(members).
 *
 * Rejects with what the client rejects with. It sets no deadline: whoever calls does.
 */
export class RedisPoolStore implements PoolStore {
  readonly #run: RunScript
  readonly #prefix: string

  constructor(options: RedisPoolStoreOptions) {
    for (const name of Object.keys(options))
      if (name !== 'client' && name !== 'prefix')
        throw new TypeError(`RedisPoolStore has no option ${JSON.stringify(name)}; it knows client, prefix`)
    const { client, prefix = 'fairlead' } = options
    this.#run = scriptRunner(client)
    if (typeof prefix !== 'string') throw new TypeError(`prefix must be a string, got ${typeof prefix}`)
    this.#prefix = prefix
  }

  /** The key of a pool. */
  keyOf(name: string, windowMs: number): string {
    return `${this.#prefix}:pool:{${name}}:${windowMs}`
  }

  async lease(call: LeaseCall): Promise<LeaseAnswer> {
    const { name, limit, windowMs, quantum } = poolTerms(call.pool)
    requireLease(call)
    const { member, seq, win, weight, need, back, tenants } = call
    const args = [limit, windowMs, quantum].map(String)
    args.push(member, `${seq}`, `${win}`, `${weight}`, `${need}`, `${back}`, tenants === undefined ? '' : 'tenants')
    for (const { tenant, weight, demand } of tenants ?? []) args.push(tenant, `${weight}`, `${demand}`)
    return answerOf(await this.#run(LEASE, this.keyOf(name, windowMs), args))
  }
}

function answerOf(reply: unknown): LeaseAnswer {
  if (!Array.isArray(reply)) throw new TypeError(`Redis answered a lease with ${typeof reply}`)
  const [win, leftMs, grant, held, waitMs, ...shares] = reply.map(Number)
  const numbers = [win, leftMs, grant, held, waitMs, ...shares]
  if (numbers.length < 5 || !numbers.every(Number.isFinite))
    throw new TypeError('Redis answered a lease with no numbers')
  return { win: win!, leftMs: leftMs!, grant: grant!, held: held!, waitMs: waitMs!, shares }
}
