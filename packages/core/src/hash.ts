/**
 * Hashing of names that clients choose: HalfSipHash-2-4 with 64 bits of output, under a secret key.
 *
 * Without the key, a client can neither predict a hash nor construct two names that share one. A secret seed does not
 * give that property to a hash built for speed: MurmurHash3 has pairs of texts that collide under every seed.
 */

import { type Random, randomUint32 } from './random.js'

/** Two 32-bit words, as signed integers (which the engine keeps unboxed). */
export interface Words {
  a: number
  b: number
}

/** A fresh key, as secret as `random` is. */
export function keyFrom(random: Random): Words {
  return { a: randomUint32(random) | 0, b: randomUint32(random) | 0 }
}

/**
 * Hashes `text`, as its UTF-16 units in little-endian bytes, under `key` into `into`. O(length), nothing allocated.
 *
 * @see J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, and its reference code
 */
export function keyedHash(text: string, key: Readonly<Words>, into: Words): void {
  const { length } = text
  const blocks = length >> 1
  let v0 = key.a
  let v1 = key.b ^ 0xee
  let v2 = key.a ^ 0x6c796765
  let v3 = key.b ^ 0x74656462
  // The blocks, the block that ends with the length in bytes, and the two halves of the output.
  for (let step = 0; step < blocks + 3; step++) {
    let word = 0
    let rounds = 2
    if (step < blocks) word = text.charCodeAt(2 * step) | (text.charCodeAt(2 * step + 1) << 16)
    else if (step === blocks) word = ((2 * length) << 24) | ((length & 1) === 1 ? text.charCodeAt(length - 1) : 0)
    else {
      rounds = 4
      if (step === blocks + 1) v2 ^= 0xee
      else {
        into.a = v1 ^ v3
        v1 ^= 0xdd
      }
    }
    v3 ^= word
    for (; rounds > 0; rounds--) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    v0 ^= word
  }
  into.b = v1 ^ v3
}

/** MurmurHash3's 32-bit finaliser: every bit of the result depends on every bit of `h`. Signed. */
export function mix32(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
