import murmur from 'murmurhash3js-revisited'

/** Words of a flow's hash: two for each structure. */
interface Words {
  a: number
  b: number
  c: number
  d: number
}

/**
 * The placement of the Go library satmihir/fair: the first 64 bits of MurmurHash3_x64_128 under a seed per structure,
 * split into two words, and level i at h1 + i·h2 (Kirsch and Mitzenmacher 2006). For traces that must agree with it:
 * each structure hashes the name anew, and with few buckets far more flows than (1/B)^L share all of theirs.
 */
export class PublishedPlacement {
  readonly #random: () => number
  readonly #buckets: number
  readonly #encoder = new TextEncoder()
  #liveSeed: number
  #shadowSeed: number

  constructor(bucketsPerLevel: number, random: () => number) {
    this.#random = random
    this.#buckets = bucketsPerLevel
    // Drawn at once, as in the library, whose sequence of draws is part of its traces.
    this.#liveSeed = uint32(random)
    this.#shadowSeed = uint32(random)
  }

  digest(key: Words & { readonly flow: string }): void {
    const bytes = this.#encoder.encode(key.flow)
    const live = publishedWords(bytes, this.#liveSeed)
    const shadow = publishedWords(bytes, this.#shadowSeed)
    key.a = live.a
    key.b = live.b
    key.c = shadow.a
    key.d = shadow.b
  }

  place(key: Words, structure: 'live' | 'shadow', places: Int32Array): void {
    if (structure === 'live') publishedPlaces(key.a, key.b, this.#buckets, places)
    else publishedPlaces(key.c, key.d, this.#buckets, places)
  }

  rotate(): void {
    this.#liveSeed = this.#shadowSeed
    this.#shadowSeed = uint32(this.#random)
  }
}

/** Low and high word of the first 64 bits of MurmurHash3_x64_128. `seed` is unsigned. */
export function publishedWords(bytes: Uint8Array, seed: number): Pick<Words, 'a' | 'b'> {
  const hex = murmur.x64.hash128(bytes, seed)
  return { a: Number.parseInt(hex.slice(8, 16), 16) | 0, b: Number.parseInt(hex.slice(0, 8), 16) | 0 }
}

/** Bucket of level i: (h1 + i·h2 mod 2^32) mod `buckets`. */
export function publishedPlaces(h1: number, h2: number, buckets: number, places: Int32Array): void {
  for (let level = 0; level < places.length; level++) places[level] = ((h1 + Math.imul(level, h2)) >>> 0) % buckets
}

function uint32(random: () => number): number {
  return Math.floor(random() * 0x1_0000_0000)
}
