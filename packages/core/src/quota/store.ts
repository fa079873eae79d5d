import { requireInteger, requireOptions } from '../options.js'
import { ownCopy } from '../path.js'

/** A store's answer about a key. */
export interface QuotaLevel {
  /** False: there was not enough quota, and nothing was taken. */
  readonly taken: boolean
  /** Time until the key has its whole quota again, in milliseconds, at least 0. */
  readonly debtMs: number
}

/**
 * Stores each key's use of its quota. Amounts are times: a key is in debt by the time in which it earns its use back,
 * and the debt shrinks as time passes. Implement it for your own store.
 */
export interface QuotaStore {
  /**
   * Adds `amountMs` to the debt of `key` if that makes it at most `mostMs`. A negative amount gives back, and is always
   * taken, even if the debt exceeds `mostMs`; no debt falls below 0. `nowMs` is the gate's clock, for stores without a
   * clock of their own.
   */
  take(key: string, amountMs: number, mostMs: number, nowMs: number): QuotaLevel | Promise<QuotaLevel>
  /** Forgets the use of `key`. */
  forget(key: string): void | Promise<void>
}

/** Options of {@link MemoryQuotaStore}. */
export interface MemoryQuotaStoreOptions {
  /**
   * Most keys kept at once, at least 2. If more are in debt, those that asked longest ago are forgotten. A key takes
   * about 90 bytes. @default 1 000 000
   */
  maxKeys?: number
}

/** The time at which each key is free of debt, in milliseconds since an origin: doubles are finest near 0. */
class QuotaDebts {
  readonly #freeMs = new Map<string, number>()
  readonly originMs: number

  constructor(originMs: number) {
    this.originMs = originMs
  }

  get size(): number {
    return this.#freeMs.size
  }

  get(key: string, nowMs: number): number | undefined {
    const freeMs = this.#freeMs.get(key)
    return freeMs === undefined ? undefined : Math.max(0, freeMs - (nowMs - this.originMs))
  }

  set(key: string, debtMs: number, nowMs: number): void {
    if (debtMs > 0) this.#freeMs.set(this.#freeMs.has(key) ? key : ownCopy(key), debtMs + (nowMs - this.originMs))
    else this.#freeMs.delete(key)
  }

  delete(key: string): void {
    this.#freeMs.delete(key)
  }
}

/**
 * Quotas in the memory of this process, by the generic cell rate algorithm (GCRA, ITU-T I.371): one number per key, the
 * time at which it is free of debt. O(1). Keys without debt are dropped without a timer.
 */
export class MemoryQuotaStore implements QuotaStore {
  /** Keys used since the last turn, which is the origin, and keys used in the turn before. */
  #young = new QuotaDebts(Number.NEGATIVE_INFINITY)
  #old = this.#young
  /** The longest debt of any key so far: a key that did not ask for this long is free of debt. */
  #longestMs = 0
  readonly #maxKeys: number

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(options: MemoryQuotaStoreOptions = {}) {
    requireOptions('MemoryQuotaStore', options, ['maxKeys'])
    const { maxKeys = 1_000_000 } = options
    requireInteger('maxKeys', maxKeys, 2)
    this.#maxKeys = maxKeys
  }

  /** Number of keys kept; some may be free of debt by now. */
  get size(): number {
    return this.#young.size + this.#old.size
  }

  take(key: string, amountMs: number, mostMs: number, nowMs: number): QuotaLevel {
    const debtMs = this.#young.get(key, nowMs) ?? this.#old.get(key, nowMs) ?? 0
    const nextMs = Math.max(0, debtMs + amountMs)
    const taken = amountMs <= 0 || nextMs <= mostMs
    // A refused amount is no debt: an enormous cost would otherwise keep all keys for ever.
    if (amountMs > 0) this.#turn(taken ? nextMs : 0, nowMs)
    if (taken) {
      this.#old.delete(key)
      this.#young.set(key, nextMs, nowMs)
    }
    return { taken, debtMs: taken ? nextMs : debtMs }
  }

  forget(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  #turn(debtMs: number, nowMs: number): void {
    if (debtMs > this.#longestMs) this.#longestMs = debtMs
    const isDue = nowMs - this.#young.originMs > this.#longestMs
    if (!isDue && this.#young.size < this.#maxKeys / 2) return
    // A key that is still in debt is forgotten only if the store is full.
    this.#old = this.#young
    this.#young = new QuotaDebts(nowMs)
  }
}
