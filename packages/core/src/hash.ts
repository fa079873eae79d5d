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

/** A 64-bit hash of `text` as 16 hexadecimal digits. The same in every process, so it may be part of a name. */
export function hex64(text: string): string {
  const words: Words = { a: 0, b: 0 }
  hashText(text, 0, words)
  return (words.a >>> 0).toString(16).padStart(8, '0') + (words.b >>> 0).toString(16).padStart(8, '0')
}
