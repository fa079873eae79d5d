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
   * Adds `amountMs` to the debt of `key` if that makes it at most `mostMs`; a negative amount is always taken, and no
   * debt falls below 0. `nowMs` is the gate's clock, for stores without a clock of their own.
   *
   * All amounts and the answer are times at `unitMs`, the time in which a unit of cost is earned. If the last request
   * of the key, also a refused one, had another, its debt is the same number of units, and so `unitMs / last` times as
   * long; from then on it is earned back by the new one. With an infinite `mostMs` this is no request but a correction
   * of one, and the key goes on earning as before. A store for quotas with a constant limit may ignore `unitMs`.
   */
  take(key: string, amountMs: number, mostMs: number, nowMs: number, unitMs: number): QuotaLevel | Promise<QuotaLevel>
  /** Forgets the use of `key`. */
  forget(key: string): void | Promise<void>
}

/** Options of {@link MemoryQuotaStore}. */
export interface MemoryQuotaStoreOptions {
  /**
   * Most keys kept at once, at least 2. If more are in debt, those that asked longest ago are forgotten. A key takes
   * about 90 bytes, or twice that if its limit is not that of most. @default 1 000 000
   */
  maxKeys?: number
}

/** Largest debt, in milliseconds: sums and conversions of debts stay finite. */
const MOST_DEBT_MS = 1e250

/** The time at which each key is free of debt, in milliseconds since an origin: doubles are finest near 0. */
class QuotaDebts {
  readonly #freeMs = new Map<string, number>()
  /** Time in which a key earns a unit, unless that is {@link #commonMs}. */
  readonly #unitMs = new Map<string, number>()
  #commonMs: number | undefined
  #lastMs = 0
  #sweep: Iterator<string> = this.#freeMs.keys()
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

  /** No key is in debt any more. */
  isFree(nowMs: number): boolean {
    return nowMs - this.originMs >= this.#lastMs
  }

  /** Of a key that is here. */
  unitOf(key: string): number | undefined {
    return this.#unitMs.size === 0 ? this.#commonMs : (this.#unitMs.get(key) ?? this.#commonMs)
  }

  /** `key` is here, or is a copy of its own. */
  set(key: string, debtMs: number, nowMs: number, unitMs: number | undefined): void {
    const freeMs = debtMs + (nowMs - this.originMs)
    if (freeMs > this.#lastMs) this.#lastMs = freeMs
    this.#freeMs.set(key, freeMs)
    this.#commonMs ??= unitMs
    if (unitMs !== undefined && unitMs !== this.#commonMs) this.#unitMs.set(key, unitMs)
    else if (this.#unitMs.size > 0) this.#unitMs.delete(key)
  }

  delete(key: string): void {
    this.#freeMs.delete(key)
    if (this.#unitMs.size > 0) this.#unitMs.delete(key)
  }

  /** The next key of a walk over all of them, again and again. */
  next(): string | undefined {
    const next = this.#sweep.next()
    if (next.done !== true) return next.value
    this.#sweep = this.#freeMs.keys()
    return undefined
  }
}

/** Keys examined by a call that may add one: more than it adds, so keys without debt do not pile up. */
const LOOKS = 4
/** Keys that are not worth a turn. */
const FEW = 64

/**
 * Quotas in the memory of this process, by the generic cell rate algorithm (GCRA, ITU-T I.371): one number per key, the
 * time at which it is free of debt. O(1). Keys without debt are dropped without a timer.
 */
export class MemoryQuotaStore implements QuotaStore {
  /** Keys that asked since the last turn, which is the origin, and keys that are still to be examined. */
  #young = new QuotaDebts(Number.NEGATIVE_INFINITY)
  #old = new QuotaDebts(Number.NEGATIVE_INFINITY)
  /** Keys that are in debt, as a guess: the old ones that became young, or those of a whole turn. */
  #stayed = 0
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

  /** As {@link QuotaStore.take}; without `unitMs`, the key earns as before. */
  take(key: string, amountMs: number, mostMs: number, nowMs: number, unitMs?: number): QuotaLevel {
    let youngMs = this.#young.get(key, nowMs)
    const isLong = nowMs - this.#young.originMs > mostMs
    if (youngMs === undefined || isLong || this.#old.size > 0 || this.#isGrown) {
      const isNew = youngMs === undefined && this.#old.get(key, nowMs) === undefined
      this.#proceed(mostMs, nowMs, isNew)
      youngMs = this.#young.get(key, nowMs)
    }
    const isYoung = youngMs !== undefined
    const keptMs = youngMs ?? this.#old.get(key, nowMs)
    const lastMs = keptMs === undefined ? undefined : (isYoung ? this.#young : this.#old).unitOf(key)
    const isSame = unitMs === lastMs || unitMs === undefined || lastMs === undefined
    const scale = isSame ? 1 : unitMs / lastMs
    const debtMs = keptMs === undefined ? 0 : Math.min(MOST_DEBT_MS, keptMs * scale)
    const nextMs = Math.min(MOST_DEBT_MS, Math.max(0, debtMs + amountMs))
    const taken = amountMs <= 0 || nextMs <= mostMs
    const leftMs = taken ? nextMs : debtMs
    // A refused key has asked as well: when the store is full, others are forgotten before it.
    if (taken || !isYoung || !isSame) {
      const isCorrection = mostMs === Number.POSITIVE_INFINITY
      const left = isCorrection && !isSame ? leftMs / scale : leftMs
      const byMs = isCorrection ? (lastMs ?? unitMs) : (unitMs ?? lastMs)
      if (!isYoung && keptMs !== undefined) {
        this.#old.delete(key)
        if (left > 0) this.#stayed++
      }
      if (left > 0) this.#young.set(isYoung ? key : ownCopy(key), left, nowMs, byMs)
      else if (isYoung) this.#young.delete(key)
    }
    return { taken, debtMs: leftMs }
  }

  forget(key: string): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  /** Many keys have come since the last turn: a turn finds those without debt. */
  get #isGrown(): boolean {
    return this.#young.size > 2 * this.#stayed + FEW
  }

  /** Examines some old keys, turns when there are none left, and forgets one if the store is full and one more comes. */
  #proceed(mostMs: number, nowMs: number, isNew: boolean): void {
    const { originMs } = this.#young
    // Times since the origin are as exact as debts if they are not much longer.
    const isLong = originMs === Number.NEGATIVE_INFINITY || nowMs - originMs > mostMs
    if (this.#old.size === 0 && (isLong || this.#isGrown || this.#young.size >= this.#maxKeys)) {
      this.#old = this.#young
      this.#young = new QuotaDebts(nowMs)
      this.#stayed = 0
    }
    if (this.#old.size > 0 && this.#old.isFree(nowMs)) {
      this.#old = new QuotaDebts(nowMs)
      this.#stayed = this.#young.size
    }
    // Most old keys may soon be free, and then go all at once: one look, so that a single long debt does not keep them.
    const most = this.#young.size < this.#old.size / 2 ? 1 : LOOKS
    for (let looks = 0; looks < most && this.#old.size > 0; looks++) {
      const key = this.#old.next() ?? this.#old.next()!
      const debtMs = this.#old.get(key, nowMs)!
      const isFull = isNew && this.size >= this.#maxKeys
      // In a store that fills up, keys that do not ask stay old.
      if (debtMs > 0 && !isFull && this.size >= this.#maxKeys / 2) continue
      const unitMs = this.#old.unitOf(key)
      this.#old.delete(key)
      // Keys in debt are forgotten only if the store is full.
      if (debtMs <= 0 || isFull) continue
      this.#stayed++
      this.#young.set(key, debtMs, nowMs, unitMs)
    }
  }
}
