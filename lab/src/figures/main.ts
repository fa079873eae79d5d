import { parseArgs } from 'node:util'
import { printTable } from '../bench/table.js'
import { figuresOf, list } from './catalogue.js'
import type { Figure, Table } from './figure.js'
import { makeAll, type Result } from './make-all.js'
import { progress } from './progress.js'
import { recordOf } from './record.js'
import { save, savePages } from './save.js'
import { type Made, summary } from './summary.js'

/**
 * Runs the simulations behind the figures in `docs`, prints them, writes pictures and data to `docs/figures`, and
 * updates the tables in `docs`. Everything is seeded: two runs write the same files.
 */
const USAGE = `figures [--seeds] [name…]: published figures, ours, and our goals; all, or those of a name or family

  --seeds  print a row for each seed as well; takes as long again

${list()}`

async function show(figure: Figure, { findings, bySeed, seconds }: Result): Promise<Made> {
  console.log(`\n${figure.name}: ${figure.about}`)
  const record = recordOf(figure, findings)
  print([...record.tables, ...bySeed])
  if (record.source !== undefined) console.log(`\nPublished: ${record.source}.`)
  for (const path of await save(figure, findings, record)) console.log(`wrote ${path}`)
  return { name: figure.name, aims: findings.aims ?? [], seconds }
}

function print(tables: readonly Table[]): void {
  for (const { title, head, rows } of tables) {
    console.log(`\n${title}`)
    printTable(head, rows)
  }
}

try {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean' }, seeds: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  if (values.help) console.log(USAGE)
  else {
    const made: Made[] = []
    const figures = figuresOf(positionals)
    const { tell, done } = progress(process.stderr)
    for await (const result of makeAll(figures, values.seeds, tell)) {
      done()
      made.push(await show(figures[made.length]!, result))
    }
    for (const path of await savePages()) console.log(`wrote ${path}`)
    print(summary(made))
  }
} catch (error) {
  if (!(error instanceof RangeError || isUsage(error))) throw error
  console.error(error.message)
  process.exitCode = 1
}

function isUsage(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}
