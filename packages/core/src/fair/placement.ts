import { keyedHash, keyFrom, mix32, type Words } from '../hash.js'
import { type Random, randomUint32 } from '../random.js'

/**
 * A hashed flow: finds its buckets without reading its name again.
 *
 * Created by `FairTracker.key`; keep it with the request and pass it with the report. It stays valid across rotations,
 * with any new seeds.
 */
export class FlowKey implements Words {
  /** The flow's name. */
  flow: string
  /** The flow's probability at the last `register` with this key. Rule `blue` only. */
  probability = 0
  /** The flow's credit in requests at the last `register` with this key. NaN by rule `blue`. */
  credit: number = Number.NaN
  /** @internal The charge of the last `register` with this key. */
  charged = 0
  /** @internal Time of its admission, in seconds, and the counts of its outcome. */
  at = 0
  window = 0
  look = 0
  isDry = false
  running = 0
  /** @internal The generation in which it was found among the known flows; 0: none. */
  generation = 0
  /** @internal Number of rotations at its hashing; -1 before that. */
  epoch = -1
  /** @internal Words of the hash; `c` and `d` are used if each structure has its own hash. */
  a = 0
  b = 0
  c = 0
  d = 0

  constructor(flow: string) {
    this.flow = flow
  }
}

/** One of the two structures: the one that decides, or the one that only learns. */
export type Structure = 'live' | 'shadow'

/** Creates a {@link Placement} for levels of `bucketsPerLevel` buckets; seeds are drawn from `random`. */
export type MakePlacement = (bucketsPerLevel: number, random: Random) => Placement

/** Places of flows in the two structures: one bucket index per level. */
export interface Placement {
  /** Hashes the key's flow, in one pass over its name per structure at most. */
  digest(key: FlowKey): void
  /** Writes the key's bucket index on each level of one structure to `places`. */
  place(key: FlowKey, structure: Structure, places: Int32Array): void
  /** The shadow's seeds become the live ones; the shadow gets fresh ones. */
  rotate(): void
}

/**
 * The default: one pass of a keyed hash gives 64 bits, and a finaliser per level and structure turns them into
 * independent bits for every level, so that the chance that two flows share all their buckets is (1/B)^L, even for
 * chosen names. Key and seeds are drawn for the first flow, and are as secret as `random`.
 */
export class IndependentPlacement implements Placement {
  readonly #random: Random
  readonly #scale: number
  #key: Words | undefined
  #live: Int32Array
  #shadow: Int32Array

  constructor(levels: number, bucketsPerLevel: number, random: Random) {
    this.#random = random
    this.#scale = bucketsPerLevel / 0x1_0000_0000
    this.#live = new Int32Array(2 * levels)
    this.#shadow = new Int32Array(2 * levels)
  }

  digest(key: FlowKey): void {
    keyedHash(key.flow, this.#key ?? this.#draw(), key)
  }

  place({ a, b }: FlowKey, structure: Structure, places: Int32Array): void {
    const seeds = structure === 'live' ? this.#live : this.#shadow
    for (let level = 0; level < places.length; level++) {
      const word = mix32((a ^ seeds[2 * level]!) + Math.imul(b, seeds[2 * level + 1]!))
      places[level] = (word >>> 0) * this.#scale
    }
  }

  rotate(): void {
    if (this.#key === undefined) return
    const spent = this.#live
    this.#live = this.#shadow
    this.#shadow = spent
    this.#reseed(spent)
  }

  #draw(): Words {
    this.#key = keyFrom(this.#random)
    this.#reseed(this.#live)
    this.#reseed(this.#shadow)
    return this.#key
  }

  /** A word and an odd multiplier per level. */
  #reseed(seeds: Int32Array): void {
    for (let i = 0; i < seeds.length; i++) seeds[i] = randomUint32(this.#random) | (i & 1)
  }
}
