import type { Table } from './figure.js'
import { markdown } from './markdown.js'

const OPENING = /<!-- figures: ([\w-]+) ([\w-]+) -->\n/g
const BLOCK = /(<!-- figures: ([\w-]+) ([\w-]+) -->\n)((?:(?!<!-- )[\s\S])*?)(<!-- \/figures -->)/g

/**
 * A page with its tables of figures updated: the text between `<!-- figures: file table -->` and `<!-- /figures -->`.
 * Throws if a block does not end, or the table does not exist.
 */
export function withTables(page: string, tableOf: (file: string, id: string) => Table | undefined): string {
  let blocks = 0
  const written = page.replace(BLOCK, (_, opening: string, file: string, id: string, _old: string, end: string) => {
    blocks++
    const table = tableOf(file, id)
    if (table === undefined) throw new Error(`docs/figures/${file}.json has no table '${id}'`)
    return `${opening}\n${markdown(table)}\n${end}`
  })
  const opened = page.match(OPENING)?.length ?? 0
  if (opened !== blocks) throw new Error(`${opened - blocks} block(s) of figures without an end`)
  return written
}
