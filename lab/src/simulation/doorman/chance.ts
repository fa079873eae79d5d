import { seededRandom } from '@fairlead/core/testing'

/** A source of random numbers. */
export interface Chance {
  /** In [0, 1). */
  real(): number
  /** A whole number from 0 to `most`. */
  upTo(most: number): number
}

/** Random sources, each with its own stream, so that the same seed gives every system the same world. */
export interface Chances {
  readonly wants: Chance
  readonly elections: Chance
  readonly mishaps: Chance
  readonly discovery: Chance
  readonly network: Chance
}

export function seededChances(seed: number): Chances {
  return {
    wants: seeded(seed),
    elections: seeded(seed + 0.1),
    mishaps: seeded(seed + 0.2),
    discovery: seeded(seed + 0.3),
    network: seeded(seed + 0.4),
  }
}

function seeded(seed: number): Chance {
  const random = seededRandom(seed)
  return { real: random, upTo: (most) => Math.floor(random() * (most + 1)) }
}

/** A recorded draw: a number in [0, 1), or a range and the number drawn from it. */
export type Draw = number | readonly [number, number, number]

/** Replays recorded draws in their order, for any caller. Throws if another kind of draw is requested. */
export function replayed(draws: readonly Draw[]): Chances & { readonly left: number } {
  let at = 0
  const next = (): Draw => {
    const draw = draws[at++]
    if (draw === undefined) throw new RangeError('there are no draws left')
    return draw
  }
  const chance: Chance = {
    real() {
      const draw = next()
      if (typeof draw === 'number') return draw
      throw new RangeError(`draw ${at} is from 0 to ${draw[1]}, not a real number`)
    },
    upTo(most) {
      const draw = next()
      if (typeof draw !== 'number' && draw[1] === most) return draw[2]
      throw new RangeError(`draw ${at} is ${JSON.stringify(draw)}, not from 0 to ${most}`)
    },
  }
  return {
    wants: chance,
    elections: chance,
    mishaps: chance,
    discovery: chance,
    network: chance,
    get left() {
      return draws.length - at
    },
  }
}
