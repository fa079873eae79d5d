import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withTables } from './blocks.js'
import type { Figure, Findings } from './figure.js'
import { indexPage } from './index-page.js'
import { titled } from './markdown.js'
import { type FigureRecord, FOLDER, tableOf } from './record.js'

const PAGES = fileURLToPath(new URL('../../../docs/', import.meta.url))

/**
 * Writes a figure's pictures, tables and data to `docs/figures`; returns their paths relative to the working directory.
 */
export async function save({ file }: Figure, { pictures }: Findings, record: FigureRecord): Promise<string[]> {
  const files = new Map([
    ...Object.entries(pictures).map(([end, svg]) => [`${file}${end && `-${end}`}.svg`, svg] as const),
    [`${file}.md`, tablesOf(record)],
    [`${file}.json`, json(record)],
  ])
  await mkdir(FOLDER, { recursive: true })
  return Promise.all(
    [...files].map(async ([name, content]) => {
      await writeFile(join(FOLDER, name), content)
      return relative(process.cwd(), join(FOLDER, name))
    }),
  )
}

/** Updates the tables in the pages, and the index, from `docs/figures`; returns the paths of the written files. */
export async function savePages(): Promise<string[]> {
  return [await saveIndex(), ...(await saveQuotes())]
}

/** Updates the tables in the pages from `docs/figures`; returns the paths of the written files. */
export async function saveQuotes(): Promise<string[]> {
  const written: string[] = []
  for (const path of await pages()) {
    const page = await readFile(path, 'utf8')
    const now = withTables(page, tableOf)
    if (now === page) continue
    await writeFile(path, now)
    written.push(relative(process.cwd(), path))
  }
  return written
}

/** The pages that may quote figures: the guide, and the decisions. */
export async function pages(): Promise<string[]> {
  const folders = [PAGES, join(PAGES, 'decisions')]
  const names = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))),
  )
  return names.flat().filter((path) => path.endsWith('.md'))
}

async function saveIndex(): Promise<string> {
  const path = join(FOLDER, 'README.md')
  await writeFile(path, indexPage())
  return relative(process.cwd(), path)
}

export function tablesOf({ source, tables }: FigureRecord): string {
  const all = tables.map(titled).join('\n')
  return source === undefined ? all : `${all}\nPublished: ${source}.\n`
}

/** Lists of numbers on one line each. */
function json(record: FigureRecord): string {
  const lists = /\[\s+(?:(?:-?\d[\d.e+-]*|null),?\s+)+\]/g
  return `${JSON.stringify(record, rounded, 1).replace(lists, (list) => list.replace(/\s+/g, ' '))}\n`
}

/** Five digits exceed the precision of a simulation. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}
