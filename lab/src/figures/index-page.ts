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
    'Simulated by `pnpm figures` with the code that ships, on a clock that is moved by hand, from seeds: the same each',
    'time. What was published, what ours comes to, and what we aimed at; a goal is met or missed by the figure as it is',
    `shown. Of ${total(true) + total(false)} goals ${total(true)} are met.\n`,
    markdown(figures),
    ...(missed.rows.length === 0 ? [] : [markdown(missed)]),
    'What depends on the machine is measured by `pnpm bench` and its like, not here. In the pages of `docs`, whatever',
    'stands between `<!-- figures: file table -->` and `<!-- /figures -->` is written by `pnpm figures`, too.\n',
  ].join('\n')
}
