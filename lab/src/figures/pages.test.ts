import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withTables } from './blocks.js'
import { FIGURES } from './catalogue.js'
import { indexPage } from './index-page.js'
import { FOLDER, readRecord, tableOf } from './record.js'
import { pages, tablesOf } from './save.js'

const PAGES = (await pages()).map((path) => [basename(path), path])

describe('docs', () => {
  it.each(PAGES)('%s quotes figures and benchmarks as they were written', (_, path) => {
    const page = readFileSync(path!, 'utf8')
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
