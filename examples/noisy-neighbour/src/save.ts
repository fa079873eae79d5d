import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { plot } from './plot.js'
import { markdownTables, type Report } from './report.js'
import type { Tally } from './tally.js'

/** Writes the plot and the figures into `folder`, and returns their paths as seen from here. */
export async function save(
  report: Report,
  tallies: Readonly<Record<'without' | 'with', Tally>>,
  folder: string,
): Promise<string[]> {
  const files = {
    'noisy-neighbour.svg': plot(report, tallies),
    'noisy-neighbour.json': `${JSON.stringify(report, null, 2)}\n`,
    'noisy-neighbour.md': markdownTables(report),
  }
  await mkdir(folder, { recursive: true })
  return Promise.all(
    Object.entries(files).map(async ([name, content]) => {
      const path = join(folder, name)
      await writeFile(path, content)
      return relative(process.cwd(), path)
    }),
  )
}
