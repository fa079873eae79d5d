/** A stream of random numbers, and the distributions of the worlds' parameters. */
export interface Draws {
  /** From 0, below 1. */
  next(): number
  between(low: number, high: number): number
  /** Evenly on a logarithmic scale. */
  log(low: number, high: number): number
  integer(low: number, high: number): number
  logInteger(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  exponential(mean: number): number
}

/** The stream of a seed (Mulberry32). */
export function draws(seed: number): Draws {
  let state = mix(seed ^ 0x5bd1e995)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + (high - low) * next()
  const log = (low: number, high: number): number => low * (high / low) ** next()
  return {
    next,
    between,
    log,
    integer: (low, high) => Math.floor(between(low, high + 1)),
    logInteger: (low, high) => Math.min(high, Math.max(low, Math.round(log(low, high)))),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)]!,
    exponential: (mean) => -mean * Math.log(1 - next()),
  }
}

/** In [0, 1), a function of its arguments: a request has the same draw regardless of the others. */
export function luck(seed: number, request: number, purpose: number): number {
  const h = mix(mix(seed ^ Math.imul(purpose + 1, 0x9e3779b1)) ^ Math.imul(request + 1, 0x85ebca77))
  return (h >>> 0) / 2 ** 32
}

/** MurmurHash3's finaliser. */
export function mix(x: number): number {
  let h = x | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
