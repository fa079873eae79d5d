import {
  type LeaseAnswer,
  type LeaseCall,
  type PoolStore,
  PoolStoreError,
  requireLease,
  type StoreFailureKind,
} from '@fairlead/core/escrow'
import { type RedisClient, type RunScript, type Script, scriptOf, storeSettings } from './client.js'
import { LEASE_SCRIPT } from './lease-script.js'

const LEASE: Script = scriptOf(LEASE_SCRIPT)

/** Options of {@link RedisPoolStore}. */
export interface RedisPoolStoreOptions {
  /**
   * A connected client of the package `redis` or `ioredis`, or one of `@upstash/redis`. It stays yours: the store never
   * closes it.
   */
  client: RedisClient
  /** Prefix of every key. @default 'fairlead' */
  prefix?: string
}

/**
 * The kind of these keys, and the number of their format: scripts of one format do not understand another's values. It
 * is inside the hash tag, which would be empty for a name that begins with a brace.
 */
const FORMAT = 'pool2'

/**
 * Pools in Redis, for a fleet: three keys per pool, one script call per lease, by Redis's own clock.
 *
 * The keys are `<prefix>:{pool2:<name>}:<windowMs>`, and the same with `:0` and `:1` for the tenants of two windows. The
 * number is that of the format: processes with another one have a pool of their own. The keys are on one node of a
 * cluster, and expire automatically. Needs Redis 5 or later, or Valkey. A lease costs Redis
 * O(members), O(members of a tenant) for each of at most 64 reported tenants, and some hundreds of sums for all others.
 *
 * Rejects with a `PoolStoreError`, whose `kind` gives the reason, and whose `cause` is the client's error. It sets no
 * deadline; the caller does.
 */
export class RedisPoolStore implements PoolStore {
  readonly #run: RunScript
  readonly #prefix: string

  constructor(options: RedisPoolStoreOptions) {
    const { run, prefix } = storeSettings('RedisPoolStore', options)
    this.#run = run
    this.#prefix = prefix
  }

  /** The key of a pool; the keys of its tenants have it as their prefix. */
  keyOf(name: string, windowMs: number): string {
    return `${this.#prefix}:{${FORMAT}:${name}}:${windowMs}`
  }

  async lease(call: LeaseCall): Promise<LeaseAnswer> {
    requireLease(call)
    const { name, limit, windowMs, quantum } = call.pool
    const { member, seq, win, holds, spent, mark, quiet, tenants, need, left = '', ahead = 0, wants = 0 } = call
    const args = [
      ...[limit, windowMs, quantum, member, seq, win, holds, spent],
      ...[mark.epoch, mark.rev, mark.total, mark.ahead, mark.members],
      ...[quiet.weight, quiet.used, need, left, ahead, wants],
    ]
    for (const { tenant, weight, used, rate, ask } of tenants) args.push(tenant, weight, used, rate, ask)
    try {
      const key = this.keyOf(name, windowMs)
      return answerOf(await this.#run(LEASE, [key, `${key}:0`, `${key}:1`], args.map(String)))
    } catch (error) {
      throw storeError(error)
    }
  }
}

function answerOf(reply: unknown): LeaseAnswer {
  if (!Array.isArray(reply))
    throw new PoolStoreError('not-a-client', `the client answered a script with ${typeof reply}, not with a list`)
  const numbers = reply.map(Number)
  const [win, leftMs, epoch, rev, total, allAhead, members, ...rest] = numbers
  const [grant, ahead, held, part, turn, room, waitMs, ...places] = rest
  if (numbers.length < 14 || !numbers.every(Number.isFinite))
    throw new PoolStoreError('other', 'Redis answered a lease with no numbers')
  return {
    ...{ win: win!, leftMs: leftMs! },
    mark: { epoch: epoch!, rev: rev!, total: total!, ahead: allAhead!, members: members! },
    ...{ grant: grant!, ahead: ahead!, held: held!, part: part!, turn: turn!, room: room!, waitMs: waitMs! },
    shares: places.filter((_place, at) => at % 2 === 0),
    used: places.filter((_place, at) => at % 2 === 1),
  }
}

/** The beginning of Redis's errors. The script's own error may precede it. */
const BY_WORD: readonly [RegExp, StoreFailureKind][] = [
  [/\bWRONGTYPE\b/, 'wrong-type'],
  [/\b(NOPERM|NOAUTH|WRONGPASS|READONLY)\b/, 'no-permission'],
  [/\bOOM\b/, 'out-of-memory'],
  [/timed? ?out/i, 'timeout'],
  [/connect|socket|closed|offline|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|fetch failed/i, 'network'],
]

/** The kind of a failure, by the client's error. */
function storeError(error: unknown): PoolStoreError {
  if (error instanceof PoolStoreError) return error
  const { message, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { message: '', code: '' }
  // The client of Upstash repeats the whole command, including all names in it.
  const [reason] = (message || String(error)).split(', command was: ')
  const said = `${reason} ${typeof code === 'string' ? code : ''}`
  const kind = BY_WORD.find(([word]) => word.test(said))?.[1] ?? 'other'
  return new PoolStoreError(kind, said.trim(), { cause: error })
}
