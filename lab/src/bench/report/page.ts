import type { Table } from '../../figures/figure.js'
import type { Section } from './section.js'

/** A section with the machine of its measurement. */
export interface Measured extends Omit<Section, 'picture'> {
  readonly machine: string
  /** Description of the picture beside it, if there is one. */
  readonly shows?: string
}

const WIDTH = 120
const OPENING = `# Benchmarks

Fairlead beside the libraries that do the same job or a part of it, each in its current version, set up as its
documentation says. \`pnpm bench:report\` measures everything and writes this page; no figure here is typed by hand.

Read ratios, not times: each table was measured in one run on one machine, in turns; times differ between machines. If a
library is faster because it does less, the text says so, and lists what is missing.
`

/** The whole page, as Markdown. */
export function page(sections: readonly Measured[]): string {
  return [OPENING, ...sections.map(chapter)].join('\n')
}

function chapter({ file, title, about, machine, tables, remarks, shows }: Measured): string {
  const parts = [
    `## ${title}`,
    ...about.map((paragraph) => wrapped(paragraph)),
    ...(shows === undefined ? [] : [`![${shows}](figures/${file}.svg)`]),
    ...tables.map(markdown),
    ...(remarks.length > 0 ? [remarks.map((remark) => wrapped(`- ${remark}`, '  ')).join('\n')] : []),
    wrapped(`Measured on: ${machine}.`),
  ]
  return `${parts.join('\n\n')}\n`
}

function markdown({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rule = `|---|${'---:|'.repeat(head.length - 1)}`
  return [wrapped(`${title}:`), '', line(head), rule, ...rows.map(line)].join('\n')
}

/** Breaks lines between words to the width of the page; `indent` begins all but the first. */
function wrapped(text: string, indent = ''): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!
    if (last === '' || last === indent) lines[lines.length - 1] = last + word
    else if (last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines.join('\n')
}
