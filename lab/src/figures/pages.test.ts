import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { withTables } from './blocks.js'
import { FIGURES } from './catalogue.js'
import { indexPage } from './index-page.js'
import { FOLDER, readRecord, tableOf } from './record.js'
import { tablesOf } from './save.js'

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const PAGES = readdirSync(DOCS).filter((name) => name.endsWith('.md'))

describe('docs', () => {
  it.each(PAGES)('%s quotes figures and benchmarks as they were written', (name) => {
    const page = readFileSync(`${DOCS}${name}`, 'utf8')
    expect(withTables(page, tableOf)).toBe(page)
  })

  it('have an index that says what the JSON says', () => {
    expect(readFileSync(`${FOLDER}README.md`, 'utf8')).toBe(indexPage())
  })

  it.each(FIGURES.map(({ file }) => file))('figures/%s.md says what its JSON says', (file) => {
    const record = readRecord(file)
    if (record !== undefined) expect(readFileSync(`${FOLDER}${file}.md`, 'utf8')).toBe(tablesOf(record))
  })
})
