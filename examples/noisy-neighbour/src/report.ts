import Table from 'cli-table3'
import type { Options } from './options.js'
import type { MannerSummary, PhaseSummary } from './summary.js'

/** A whole run: its options, and the results of both phases. */
export interface Report {
  readonly options: Pick<Options, 'seconds' | 'seed' | 'resource' | 'load'>
  /** Measured before the first phase, in requests per second. */
  readonly capacity: number
  readonly without: PhaseSummary
  readonly with: PhaseSummary
}

type Cells = readonly (readonly string[])[]

const CLIENT_HEAD = ['', 'clients', 'asked/s', 'served/s', 'served / asked', 'served / entitled', 'worst', 'p50', 'p99']
const TOTAL_HEAD = ['', 'fairness (Jain)', 'utilisation', 'refused 429', 'refused 503', 'no answer']

/** The tables for a terminal. */
export function terminalTables(report: Report): string {
  return [
    terminalTable(CLIENT_HEAD, clientRows(report)),
    terminalTable(TOTAL_HEAD, totalRows(report)),
    'Rates are per client. Entitled: the max-min fair split of the measured capacity between what was asked.',
  ].join('\n')
}

/** The tables for a README. */
export function markdownTables(report: Report): string {
  return `${markdownTable(CLIENT_HEAD, clientRows(report))}\n\n${markdownTable(TOTAL_HEAD, totalRows(report))}\n`
}

/** Above this the load generator itself lacked processor time. */
const LATE_MS = 20

/** The result in one sentence, and a warning if it cannot be trusted. */
export function headline({ without, with: withFairlead }: Report): string {
  const [before, after] = [without, withFairlead].map(({ quiet }) => `${(100 * quiet.servedOfAsked).toFixed(0)} %`)
  const result = `The quiet clients got ${before} of what they asked without Fairlead, and ${after} with it.`
  const lateMs = Math.max(without.lateP99Ms, withFairlead.lateP99Ms)
  if (lateMs < LATE_MS) return result
  const late = `one request in 100 was sent ${lateMs.toFixed(0)} ms late or more`
  return `${result}\nThis machine was busy: ${late}. Better run it again.`
}

function clientRows(report: Report): Cells {
  return [
    clientRow('without, quiet', report.without.quiet),
    clientRow('without, heavy', report.without.heavy),
    clientRow('with, quiet', report.with.quiet),
    clientRow('with, heavy', report.with.heavy),
  ]
}

function clientRow(title: string, summary: MannerSummary): string[] {
  return [
    title,
    String(summary.clients),
    summary.asked.toFixed(1),
    summary.served.toFixed(1),
    ratio(summary.servedOfAsked),
    ratio(summary.servedOfEntitled),
    ratio(summary.worstOfEntitled),
    milliseconds(summary.p50Ms),
    milliseconds(summary.p99Ms),
  ]
}

function totalRows(report: Report): Cells {
  return (['without', 'with'] as const).map((title) => {
    const { jain, utilisation, asked, refusedUnfair, refusedShort, lost } = report[title]
    return [
      title,
      ratio(jain),
      ratio(utilisation),
      share(refusedUnfair, asked),
      share(refusedShort, asked),
      String(lost),
    ]
  })
}

function ratio(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(2)
}

function share(part: number, whole: number): string {
  return `${part} (${((100 * part) / whole).toFixed(1)} %)`
}

function milliseconds(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(0)} ms`
}

function terminalTable(head: readonly string[], rows: Cells): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, column) => (column === 0 ? 'left' : 'right')),
    // Without the library's colours, which would end up in log files.
    style: { head: [], border: [], compact: true },
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

function markdownTable(head: readonly string[], rows: Cells): string {
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
