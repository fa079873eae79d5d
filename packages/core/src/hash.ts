/**
 * Hashing of flow names: MurmurHash3 (Austin Appleby, 2011), the 32-bit family, run in two lanes over UTF-16 units.
 *
 * The lanes cross after every block and in the finaliser, as those of MurmurHash3_x86_128 do, so each of the 64 bits
 * depends on every unit. Reading units instead of UTF-8 bytes saves an encoding pass and any allocation; the values
 * therefore differ from those of the byte-based variants and mean nothing outside this process.
 */

/** Two 32-bit words, as signed integers (which the engine keeps unboxed). */
export interface Words {
  a: number
  b: number
}

/** MurmurHash3's 32-bit finaliser: every bit of the result depends on every bit of `h`. Signed. */
export function mix32(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

/** Hashes `text` under `seed` into `into`. O(length), nothing allocated. */
export function hashText(text: string, seed: number, into: Words): void {
  const length = text.length
  let a = seed | 0
  let b = seed ^ 0x3c6ef372
  let i = 0
  for (const end = length - 3; i < end; i += 4) {
    let k = text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
    k = Math.imul(k, 0x239b961b)
    a ^= Math.imul((k << 15) | (k >>> 17), 0xab0e9789)
    a = (Math.imul((a << 19) | (a >>> 13), 5) + b + 0x561ccd1b) | 0
    k = text.charCodeAt(i + 2) | (text.charCodeAt(i + 3) << 16)
    k = Math.imul(k, 0xab0e9789)
    b ^= Math.imul((k << 16) | (k >>> 16), 0x38b34ae5)
    b = (Math.imul((b << 17) | (b >>> 15), 5) + a + 0x0bcaa747) | 0
  }
  for (; i < length; i++) {
    const k = Math.imul(text.charCodeAt(i), 0x239b961b)
    a ^= Math.imul((k << 15) | (k >>> 17), 0xab0e9789)
    a = (Math.imul((a << 19) | (a >>> 13), 5) + b + 0x561ccd1b) | 0
  }
  a ^= length
  b ^= length
  a = (a + b) | 0
  b = (b + a) | 0
  a = mix32(a)
  b = mix32(b)
  a = (a + b) | 0
  into.a = a
  into.b = (b + a) | 0
}

/**
 * HalfSipHash with 64 bits of output: a keyed hash of `text`, as its UTF-16 units in little-endian bytes, into `into`.
 * Whoever does not know the key can neither predict a hash nor look for two texts that share one, whatever texts they
 * may choose. One round per block and three at the end, as hash tables use it; the published vectors are of two and
 * four. O(length), nothing allocated; a name of 20 units takes less than 100 ns.
 *
 * @see J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, and its reference code
 */
export function keyedHash(text: string, key: Words, into: Words, perBlock: number = 1, atEnd: number = 3): void {
  const { length } = text
  const blocks = length >> 1
  let v0 = key.a
  let v1 = key.b ^ 0xee
  let v2 = key.a ^ 0x6c796765
  let v3 = key.b ^ 0x74656462
  // The blocks, the block that ends with the length in bytes, and the two halves of the output.
  for (let step = 0; step < blocks + 3; step++) {
    let word = 0
    let rounds = perBlock
    if (step < blocks) word = text.charCodeAt(2 * step) | (text.charCodeAt(2 * step + 1) << 16)
    else if (step === blocks) word = ((2 * length) << 24) | ((length & 1) === 1 ? text.charCodeAt(length - 1) : 0)
    else {
      rounds = atEnd
      if (step === blocks + 1) v2 ^= 0xee
      else {
        into.a = v1 ^ v3
        v1 ^= 0xdd
      }
    }
    v3 ^= word
    do {
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
    } while (--rounds > 0)
    v0 ^= word
  }
  into.b = v1 ^ v3
}
