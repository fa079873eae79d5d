import type { QuotaLevel, QuotaStore } from '@fairlead/core/quota'
import { type RedisClient, type RunScript, type Script, scriptOf, storeSettings } from './client.js'

/**
 * A key holds a time of Redis's clock, in whole microseconds, the debt at that time, and the time in which a unit is
 * earned, in microseconds and parts of them; it expires when it is free of debt. One number for time and debt would
 * have only the precision of a double of the time since 1970. If the clock was set back, the debt shrinks from then on,
 * also through a refusal. Arguments: the amount to add to the debt, the largest permitted debt, the time of a unit, 0
 * if it stays, and 1 for a correction. Returns whether it was added, and the debt: as text, since Redis truncates
 * numbers to integers.
 */
const TAKE: Script = scriptOf(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local amount, most, unit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local corrects = ARGV[4] == '1'
local debt, isBack, last, scale = 0, false, unit, 1
local kept = redis.call('GET', KEYS[1])
if kept then
  local at, owed, by = string.match(kept, '^(%S+) (%S+) ?(%S*)$')
  isBack = now < tonumber(at)
  last = tonumber(by) or unit
  if unit > 0 and last > 0 then scale = unit / last end
  debt = math.min(1e253, math.max(0, owed - math.max(0, now - at)) * scale)
end
local after = math.min(1e253, math.max(0, debt + amount))
local taken = 1
if amount > 0 and not corrects and after > most then
  if not isBack and scale == 1 then return {0, string.format('%.17g', debt)} end
  taken, after = 0, debt
end
local left = after
if corrects then left, unit = after / scale, last end
if unit == 0 then unit = last end
if left == 0 then
  redis.call('DEL', KEYS[1])
else
  local ms = string.format('%.0f', math.min(1e15, math.ceil(left / 1000)))
  redis.call('SET', KEYS[1], string.format('%.0f %.17g %.17g', now, left, unit), 'PX', ms)
end
return {taken, string.format('%.17g', after)}
`)
const FORGET: Script = scriptOf(`return redis.call('DEL', KEYS[1])`)

const US_PER_MS = 1_000
const MOST_US = 1e253

/** Options of {@link RedisQuotaStore}. */
export interface RedisQuotaStoreOptions {
  /** A connected client of the package `redis` or `ioredis`, or one of `@upstash/redis`. The store never closes it. */
  client: RedisClient
  /** Prefix of every key. @default 'fairlead' */
  prefix?: string
}

/**
 * Quotas in Redis, shared by all processes that use the same name: one key for each key in debt, one script call per
 * request, by Redis's own clock. Several quotas of a gate may share a store, if their names differ.
 *
 * The key is `<prefix>:quota:<name of the quota>:<key>`; it expires when the quota is whole again. Needs Redis 5 or
 * later, or Valkey. Rejects with the client's error; the quota's `deadlineMs` bounds the wait.
 */
export class RedisQuotaStore implements QuotaStore {
  readonly #run: RunScript
  readonly #prefix: string

  /** Throws a `TypeError` that names the invalid option. */
  constructor(options: RedisQuotaStoreOptions) {
    const { run, prefix } = storeSettings('RedisQuotaStore', options)
    this.#run = run
    this.#prefix = prefix
  }

  /** As {@link QuotaStore.take}, by Redis's clock; without `unitMs`, the key earns as before. */
  async take(key: string, amountMs: number, mostMs: number, _nowMs?: number, unitMs: number = 0): Promise<QuotaLevel> {
    const isCorrection = mostMs === Number.POSITIVE_INFINITY
    // Sums and conversions stay finite.
    const us = (ms: number): string => String(Math.max(-MOST_US, Math.min(MOST_US, ms * US_PER_MS)))
    const args = [us(amountMs), us(mostMs), us(unitMs), isCorrection ? '1' : '0']
    const reply = await this.#run(TAKE, [`${this.#prefix}:quota:${key}`], args)
    const [taken, debt] = Array.isArray(reply) ? reply.map(Number) : []
    if (taken === undefined || debt === undefined || !Number.isFinite(debt))
      throw new TypeError(`the client answered a script with ${typeof reply}, not with two numbers`)
    return { taken: taken === 1, debtMs: debt / US_PER_MS }
  }

  async forget(key: string): Promise<void> {
    await this.#run(FORGET, [`${this.#prefix}:quota:${key}`], [])
  }
}
