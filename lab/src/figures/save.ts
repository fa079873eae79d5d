import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure, Findings, Table } from './figure.js'

const FOLDER = fileURLToPath(new URL('../../../docs/figures/', import.meta.url))

/** Writes a figure's pictures, tables and data to `docs/figures`; gives their paths as seen from here. */
export async function save({ file }: Figure, { tables, pictures, data }: Findings): Promise<string[]> {
  const files = new Map([
    ...Object.entries(pictures).map(([end, svg]) => [`${file}${end && `-${end}`}.svg`, svg] as const),
    [`${file}.md`, tables.map(markdown).join('\n')],
    [`${file}.json`, json(data)],
  ])
  await mkdir(FOLDER, { recursive: true })
  return Promise.all(
    [...files].map(async ([name, content]) => {
      await writeFile(join(FOLDER, name), content)
      return relative(process.cwd(), join(FOLDER, name))
    }),
  )
}

/** A table as people write it into a page. */
function markdown({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  return `${title}\n\n${line(head)}|---|${'---:|'.repeat(head.length - 1)}\n${rows.map(line).join('')}`
}

/** Lists of numbers on one line each. */
function json(data: unknown): string {
  const lists = /\[\s+(?:(?:-?\d[\d.e+-]*|null),?\s+)+\]/g
  return `${JSON.stringify(data, rounded, 1).replace(lists, (list) => list.replace(/\s+/g, ' '))}\n`
}

/** Five digits are more than a simulation knows. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}
