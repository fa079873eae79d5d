import { parseArgs } from 'node:util'
import { printTable } from '../bench/table.js'
import { bySeed } from './by-seed.js'
import { figuresOf, list } from './catalogue.js'
import { type Figure, FULL, type Table } from './figure.js'
import { progress } from './progress.js'
import { recordOf } from './record.js'
import { save, savePages } from './save.js'
import { type Made, summary } from './summary.js'

/**
 * Simulates what `docs` shows, prints it, writes pictures and data to `docs/figures`, and brings the tables in `docs`
 * up to them. Everything is seeded: two runs write the same files.
 */
const USAGE = `figures [--seeds] [name…]: published figures, ours, and our goals; all, or those of a name or family

  --seeds  print a row for each seed as well; takes as long again

${list()}`

async function draw(figure: Figure, seeds: boolean): Promise<Made> {
  console.log(`\n${figure.name}: ${figure.about}`)
  const startMs = performance.now()
  const { tell, done } = progress(process.stderr)
  const findings = await figure.make(FULL, tell)
  const seconds = (performance.now() - startMs) / 1_000
  const each = seeds ? await bySeed(figure, tell) : []
  done()
  const record = recordOf(figure, findings)
  print([...record.tables, ...each])
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
    for (const figure of figuresOf(positionals)) made.push(await draw(figure, values.seeds))
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
