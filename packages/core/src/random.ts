/** A number in [0, 1). */
export type Random = () => number

/** The platform's generator: for what no client ever sees. Who sees enough of its numbers can compute the others. */
export const systemRandom: Random = () => Math.random()

const POOLED = 512
let pool: Uint32Array | undefined
let left = 0

/**
 * For what clients see the outcome of: whom a coin refuses, how long a refused client stays away. From the platform's
 * cryptographic generator, so that nothing follows from one number about any other, nor about the host's `Math.random`.
 * Fetched by the hundred: some nanoseconds each.
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
 * For seeds and keys, which nobody outside may know: from the platform's cryptographic generator, one call each. To be
 * asked with the first request and not before: some runtimes at the edge have no chance to offer while they load.
 */
export const secretRandom: Random = () => crypto.getRandomValues(new Uint32Array(1))[0]! / 0x1_0000_0000

/** A whole number from 0 to 2^32 - 1. */
export function randomUint32(random: Random): number {
  return Math.floor(random() * 0x1_0000_0000)
}
