/** A number in [0, 1). */
export type Random = () => number

/** Words that are drawn at once: asking the platform for each costs more than the rest of a decision. */
const BATCH = 1_024
const words = new Uint32Array(BATCH)
let used = BATCH

/**
 * The platform's generator for cryptography, at some nanoseconds a number. Not `Math.random`: clients see numbers that
 * depend on it, such as `Retry-After`, and from a few hundred of those its state, and with it all that the process has
 * drawn and will draw, can be computed. Where the platform refuses (workerd, outside of a request), `Math.random`
 * answers; nobody outside sees what is drawn there.
 */
export const systemRandom: Random = () => {
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

/** A whole number from 0 to 2^32 - 1. */
export function randomUint32(random: Random): number {
  return Math.floor(random() * 0x1_0000_0000)
}
