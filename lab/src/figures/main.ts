import { printTable } from '../bench/table.js'
import { figuresOf } from './catalogue.js'
import { type Figure, FULL } from './figure.js'
import { progress } from './progress.js'
import { save } from './save.js'

/**
 * Simulates what `docs` shows, prints it, and writes pictures and data to `docs/figures`: `figures [name…]`, or all.
 * Everything is seeded: two runs write the same files.
 */
async function draw(figure: Figure): Promise<void> {
  console.log(`\n${figure.name}: ${figure.about}`)
  const { tell, done } = progress(process.stderr)
  const findings = await figure.make(FULL, tell)
  done()
  for (const { title, head, rows } of findings.tables) {
    console.log(`\n${title}`)
    printTable(head, rows)
  }
  for (const path of await save(figure, findings)) console.log(`wrote ${path}`)
}

try {
  for (const figure of figuresOf(process.argv.slice(2))) await draw(figure)
} catch (error) {
  if (!(error instanceof RangeError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
