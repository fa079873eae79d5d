import type { Table } from './figure.js'

/** A table in Markdown. */
export function markdown({ head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  return `${line(head)}|---|${'---:|'.repeat(head.length - 1)}\n${rows.map(line).join('')}`
}

export function titled(table: Table): string {
  return `${table.title}\n\n${markdown(table)}`
}
