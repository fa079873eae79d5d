/** State of Go's `math/rand` after seeding, as recorded in the fixtures. */
export interface GoRandomState {
  vec_hex_u64: string[]
  tap: number
  feed: number
}

const MASK_63 = (1n << 63n) - 1n

/** Go's `math/rand` source: an additive lagged Fibonacci generator. Returns its `Float64`, a number in [0, 1). */
export function goRandom({ vec_hex_u64, tap, feed }: GoRandomState): () => number {
  const vec = BigUint64Array.from(vec_hex_u64, (hex) => BigInt(`0x${hex}`))
  const before = (index: number): number => (index === 0 ? vec.length - 1 : index - 1)
  return function float64(): number {
    tap = before(tap)
    feed = before(feed)
    vec[feed] = vec[feed]! + vec[tap]!
    const x = Number(vec[feed]! & MASK_63) / 2 ** 63
    return x === 1 ? float64() : x
  }
}
