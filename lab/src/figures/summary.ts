import { type Aim, goalsTable, isMet } from './aims.js'
import type { Table } from './figure.js'

/** A finished figure, and its duration. */
export interface Made {
  readonly name: string
  readonly aims: readonly Aim[]
  readonly seconds: number
}

/** The number of met goals, and the figures that missed theirs. */
export function summary(made: readonly Made[]): Table[] {
  const count = (aims: readonly Aim[], met: boolean): number => aims.filter((aim) => isMet(aim) === met).length
  const all = made.flatMap(({ aims }) => aims)
  const row = (name: string, aims: readonly Aim[], seconds: number): string[] => [
    name,
    String(count(aims, true)),
    String(count(aims, false)),
    seconds.toFixed(0),
  ]
  const counts: Table = {
    title: 'Goals',
    head: ['', 'met', 'missed', 'seconds'],
    rows: [
      ...made.map(({ name, aims, seconds }) => row(name, aims, seconds)),
      row(
        'all',
        all,
        made.reduce((sum, { seconds }) => sum + seconds, 0),
      ),
    ],
  }
  const missed = made.flatMap(({ name, aims }) =>
    aims.filter((aim) => isMet(aim) === false).map((aim) => ({ ...aim, what: `${name}: ${aim.what}` })),
  )
  return missed.length === 0 ? [counts] : [counts, { ...goalsTable(missed), title: 'Missed' }]
}
