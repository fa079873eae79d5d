import type { Table } from './figure.js'

/** Bounds, one or both, in the unit of the aim. */
interface Goal {
  readonly least?: number
  readonly most?: number
}

/** A figure as published, ours, and its goal: all in one unit. */
export interface Aim {
  readonly what: string
  /** Absent if nothing was published. */
  readonly published?: number | undefined
  readonly ours: number
  /** Absent if the figure is only for comparison. */
  readonly goal?: Goal
  /** Digits behind the point. @default 1 */
  readonly digits?: number
}

/** Whether ours, as displayed, meets its goal; undefined without one. */
export function isMet({ ours, goal, digits = 1 }: Aim): boolean | undefined {
  if (goal === undefined) return undefined
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = goal
  const shown = Number(ours.toFixed(digits))
  return shown >= least && shown <= most
}

/** `runs`: the number of seeds behind the means, if it is to be stated. */
export function goalsTable(aims: readonly Aim[], runs?: number): Table {
  return {
    id: 'goals',
    title: 'Goals',
    head: [runs === undefined ? '' : `${runs} seeds`, 'published', 'ours', 'goal', 'met'],
    rows: aims.map((aim) => {
      const { what, published, ours, goal, digits = 1 } = aim
      return [what, numeral(published, digits), numeral(ours, digits), bounds(goal), mark(isMet(aim))]
    }),
  }
}

function mark(met: boolean | undefined): string {
  if (met === undefined) return '–'
  return met ? 'met' : 'missed'
}

function bounds({ least, most }: Goal = {}): string {
  if (least === undefined) return most === undefined ? '–' : `≤ ${plain(most)}`
  if (most === undefined) return `≥ ${plain(least)}`
  return least === most ? plain(least) : `${plain(least)} to ${plain(most)}`
}

/** Without rounding errors of sums. */
function plain(value: number): string {
  return String(Number(value.toPrecision(9)))
}

function numeral(value: number | undefined, digits: number): string {
  if (value === undefined || Number.isNaN(value)) return '–'
  return Number.isFinite(value) ? value.toFixed(digits) : 'never'
}
