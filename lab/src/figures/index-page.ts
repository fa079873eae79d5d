import { FIGURES } from './catalogue.js'
import type { Table } from './figure.js'
import { markdown } from './markdown.js'
import { type FigureRecord, readRecord } from './record.js'

/** The index page of `docs/figures`: the figures, the number of met goals, and the missed ones. */
export function indexPage(): string {
  const all = FIGURES.flatMap(({ name, file }) => {
    const record = readRecord(file)
    return record === undefined ? [] : [{ name, file, record }]
  })
  const count = ({ goals }: FigureRecord, met: boolean): number => goals.filter((goal) => goal.met === met).length
  const total = (met: boolean): number => all.reduce((sum, { record }) => sum + count(record, met), 0)
  const figures: Table = {
    title: '',
    head: ['`pnpm figures …`', 'shows', 'met', 'missed'],
    rows: all.map(({ name, file, record }) => [
      `[${name}](${file}.md)`,
      record.about,
      String(count(record, true)),
      String(count(record, false)),
    ]),
  }
  const missed: Table = {
    title: '',
    head: ['missed', 'published', 'ours', 'goal'],
    rows: all.flatMap(({ name, record }) =>
      (record.tables.find(({ id }) => id === 'goals')?.rows ?? [])
        .filter((row) => row.at(-1) === 'missed')
        .map(([what, ...cells]) => [`${name}: ${what!}`, ...cells.slice(0, -1)]),
    ),
  }
  return [
    '# Figures\n',
    'Simulated by `pnpm figures` with the code that ships, on a manual clock, from seeds: the same each time. Published',
    'figures, ours, and our goals; a goal is met or missed by the figure as it is displayed.',
    `Of ${total(true) + total(false)} goals ${total(true)} are met.\n`,
    markdown(figures),
    ...(missed.rows.length === 0 ? [] : [markdown(missed)]),
    'Figures that depend on the machine are measured by `pnpm bench` and similar commands, not here. In the pages of',
    '`docs`, `pnpm figures` also writes the text between `<!-- figures: file table -->` and `<!-- /figures -->`.\n',
  ].join('\n')
}
