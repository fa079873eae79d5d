import type { Random } from '../random.js'

/**
 * A generator with the same numbers for the same seed on every platform: sfc32, 32 bits of resolution.
 *
 * Any finite number is a seed; neighbouring seeds give unrelated streams. Not for secrets.
 *
 * @see C. Doty-Humphrey, PractRand, 2010 (sfc, "small fast counting" generator)
 */
export function seededRandom(seed: number): Random {
  if (!Number.isFinite(seed)) throw new RangeError(`seed must be a finite number, got ${seed}`)
  const words = new Uint32Array(new Float64Array([seed]).buffer)
  let a = words[0] ?? 0
  let b = words[1] ?? 0
  let c = 0x9e37_79b9
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 0x1_0000_0000
  }
  // The seed's bits need a few rounds to reach every word of the state.
  for (let round = 0; round < 15; round++) next()
  return next
}
