import { access, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { saveQuotes } from '../../figures/save.js'
import { printTable } from '../table.js'
import { type Measured, page } from './page.js'
import { CHAPTERS, type Section } from './section.js'

const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url))
const FIGURES = join(DOCS, 'figures')

/**
 * Prints a section; with `save` also stores it, and rewrites the page of all sections and the figures that other pages
 * quote.
 */
export async function publish(section: Section, machine: string, save: boolean): Promise<void> {
  const { title, about, tables, remarks, picture, ...rest } = section
  console.log(`\n${title}\n${about.join('\n')}`)
  for (const table of tables) {
    console.log(`\n${table.title}`)
    printTable(table.head, table.rows)
  }
  for (const remark of remarks) console.log(`- ${remark}`)
  console.log(machine)
  if (!save) return
  if (!CHAPTERS.includes(rest.file)) throw new RangeError(`${rest.file} is not among the chapters of the page`)
  const shows = picture && { shows: picture.shows }
  const measured: Measured = { ...rest, title, about, machine, tables, remarks, ...shows }
  await mkdir(FIGURES, { recursive: true })
  await write(join(FIGURES, `${rest.file}.json`), `${JSON.stringify(measured, null, 1)}\n`)
  if (picture) await write(join(FIGURES, `${rest.file}.svg`), picture.svg)
  await writePage()
  for (const path of await saveQuotes()) console.log(`wrote ${path}`)
}

/** The stored section; undefined if there is none. */
export async function kept(file: string): Promise<Measured | undefined> {
  const path = join(FIGURES, `${file}.json`)
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  return exists ? (JSON.parse(await readFile(path, 'utf8')) as Measured) : undefined
}

/** Writes the page from the stored sections. */
async function writePage(): Promise<void> {
  const sections = await Promise.all(CHAPTERS.map(kept))
  await write(join(DOCS, 'benchmarks.md'), page(sections.filter((section) => section !== undefined)))
}

async function write(path: string, content: string): Promise<void> {
  await writeFile(path, content)
  console.log(`wrote ${relative(process.cwd(), path)}`)
}
