import type { Party } from './limiters.js'

/** A figure of which less is better. */
interface Measured {
  readonly name: string
  readonly by: Party
  readonly value: number
}

/** What is within this factor is called equal: runs differ by more. */
const ALIKE = 1.1

/** A sentence for each that needs less than the first of ours, with how much of it; none where nobody does. */
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
