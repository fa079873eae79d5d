/** A number in [0, 1). */
export type Random = () => number

/** The platform's generator: fast, and good enough to toss coins with. */
export const systemRandom: Random = () => Math.random()

/** A whole number from 0 to 2^32 - 1. */
export function randomUint32(random: Random): number {
  return Math.floor(random() * 0x1_0000_0000)
}

/** 128 bits, as text. */
export function randomId(random: Random): string {
  return Array.from({ length: 4 }, () => randomUint32(random).toString(16).padStart(8, '0')).join('')
}
