import type { Party } from './limiters.js'

/** A figure for which less is better. */
interface Measured {
  readonly name: string
  readonly by: Party
  readonly value: number
}

/** Figures within this factor count as equal: runs differ by more. */
const ALIKE = 1.1

/** A sentence for each figure that is less than Fairlead's first one, with the ratio; empty if there is none. */
export function behind(what: string, measured: readonly Measured[]): string[] {
  const own = measured.find(({ by }) => by === 'ours')
  if (own === undefined) return []
  return measured
    .filter(({ by, value }) => by === 'peer' && value * ALIKE < own.value)
    .map(({ name, value }) => {
      const part = (value / own.value).toPrecision(2)
      return `Behind in ${what}: ${name} needs ${part} of what it takes here (${own.name}).`
    })
}
