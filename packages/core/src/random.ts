/** A number in [0, 1). */
export type Random = () => number

/** Words drawn in one call: asking the platform for each one costs more than the rest of a decision. */
const BATCH = 1_024
let words: Uint32Array<ArrayBuffer> | undefined
let used = BATCH

/**
 * For ids, which must be distinct but need not be secret: from the platform's cryptographic generator, at some
 * nanoseconds a number. If the platform refuses (workerd, outside of a request), it falls back to `Math.random`. Never
 * use it for keys, seeds or draws whose results clients see.
 */
export const systemRandom: Random = () => {
  words ??= new Uint32Array(BATCH)
  if (used === BATCH) {
    try {
      globalThis.crypto.getRandomValues(words)
    } catch {
      return Math.random()
    }
    used = 0
  }
  const high = words[used++]! >>> 5
  const low = words[used++]! >>> 6
  return (high * 0x400_0000 + low) / 0x20_0000_0000_0000
}

const POOLED = 512
let pool: Uint32Array | undefined
let left = 0

/**
 * For draws whose results clients see: which request is refused, how long a refused client stays away. From the
 * platform's cryptographic generator, so that no number predicts another one, or the host's `Math.random`. Numbers are
 * fetched in batches of hundreds: some nanoseconds each.
 */
export const coinRandom: Random = () => {
  pool ??= new Uint32Array(POOLED)
  if (left === 0) {
    crypto.getRandomValues(pool)
    left = POOLED
  }
  return pool[--left]! / 0x1_0000_0000
}

/**
 * For secret seeds and keys: from the platform's cryptographic generator, one call each. Not to be called before the
 * first request: some edge runtimes have no randomness while a module loads.
 */
export const secretRandom: Random = () => crypto.getRandomValues(new Uint32Array(1))[0]! / 0x1_0000_0000

/** A whole number from 0 to 2^32 - 1. */
export function randomUint32(random: Random): number {
  return Math.floor(random() * 0x1_0000_0000)
}

/** 128 bits, as text. */
export function randomId(random: Random): string {
  return Array.from({ length: 4 }, () => randomUint32(random).toString(16).padStart(8, '0')).join('')
}

/** 46 bits, as nine letters and digits: for messages in which every byte counts. */
export function shortId(random: Random): string {
  return random().toString(36).slice(2, 11).padEnd(9, '0')
}
