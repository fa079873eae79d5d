import type { Code, Html, Nodes } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { tableSource } from './option-table.js'

/** A line of code, and its line on the page. */
export interface SourceLine {
  readonly text: string
  readonly line: number
}

/** The output that a page states for a program. `roughly`: numbers may differ, and lines may be missing. */
export interface Output {
  readonly text: string
  readonly roughly: boolean
}

/** A block of TypeScript, with the code that it depends on. */
export interface Example {
  readonly page: string
  /** The line of the page on which the block begins. */
  readonly line: number
  readonly source: readonly SourceLine[]
  readonly output?: Output
}

/** A block in another language. */
interface OtherBlock {
  readonly page: string
  readonly line: number
  readonly language: string
  readonly text: string
}

interface Page {
  readonly examples: readonly Example[]
  /** Programs that compile if a table of options is complete. */
  readonly tables: readonly Example[]
  readonly others: readonly OtherBlock[]
}

/** The text of a comment `<!-- example … -->` about the block after it. */
interface Note {
  readonly words: string
  readonly body: readonly SourceLine[]
}

const NOTE = /<!-- example ([^\n]+?)(?: -->|\n([\s\S]*?)-->)/g
const ARROW = /\/\/ → (.*)$/

/**
 * The code blocks of a page. Comments before a block, invisible to readers, describe its context: `<!-- example given`
 * with declarations that the page leaves out, up to `-->`; `<!-- example continues -->`, if it continues the previous
 * block; before a block of text, `<!-- example prints -->` or `<!-- example prints roughly -->`, if it is the output of
 * the program above. A program whose lines have comments `// → …` prints these, in order.
 *
 * Before a table of options, `<!-- example options core.FairOptions -->`: it lists all options of that type, and no
 * others.
 */
export function parsePage(page: string, markdown: string): Page {
  const examples: Example[] = []
  const tables: Example[] = []
  const others: OtherBlock[] = []
  let notes: Note[] = []
  for (const node of leaves(fromMarkdown(markdown))) {
    if (node.type === 'html') {
      notes.push(...notesOf(node))
      continue
    }
    const line = node.position?.start.line ?? 0
    const where = `${page}:${line}`
    if (node.type === 'code' && (node.lang === 'ts' || node.lang === 'js')) {
      examples.push(exampleOf(page, node, notes, examples.at(-1)))
    } else if (node.type === 'code') {
      const program = examples.at(-1)
      for (const { words } of notes) {
        if (!/^prints(?: roughly)?$/.test(words)) throw new Error(`${where}: what is “${words}”?`)
        if (program === undefined) throw new Error(`${where}: no program before it`)
        examples[examples.length - 1] = { ...program, output: { text: node.value, roughly: words !== 'prints' } }
      }
      others.push({ page, line, language: node.lang ?? '', text: node.value })
    } else if (node.type === 'paragraph' && notes[0]?.words.startsWith('options ')) {
      const rows = linesOf(markdown, 1).slice(line - 1, node.position?.end.line)
      tables.push({ page, line, source: tableSource(notes[0].words.slice('options '.length), rows) })
    } else if (notes.length > 0) {
      throw new Error(`${where}: a note stands before no block`)
    }
    notes = []
  }
  return { examples, tables, others }
}

/** Blocks without nested blocks, in the order of the page. */
function* leaves(node: Nodes): Generator<Nodes> {
  if (!('children' in node) || node.type === 'paragraph') yield node
  else for (const child of node.children) yield* leaves(child)
}

function notesOf({ value, position }: Html): Note[] {
  return [...value.matchAll(NOTE)].map(({ 1: words = '', 2: body = '', index }) => {
    const above = value.slice(0, index).split('\n').length
    return { words, body: linesOf(body.trimEnd(), (position?.start.line ?? 0) + above) }
  })
}

function exampleOf(page: string, { value, position }: Code, notes: readonly Note[], before?: Example): Example {
  const line = position?.start.line ?? 0
  const source: SourceLine[] = []
  for (const { words, body } of notes) {
    if (words === 'given') source.push(...body)
    else if (words === 'continues' && before) source.push(...before.source)
    else throw new Error(`${page}:${line}: what is “${words}”?`)
  }
  source.push(...linesOf(value, line + 1))
  const printed = source.flatMap(({ text }) => ARROW.exec(text)?.[1] ?? [])
  const output = printed.length > 0 && { output: { text: printed.join('\n'), roughly: false } }
  return { page, line, source, ...output }
}

function linesOf(text: string, first: number): SourceLine[] {
  return text.split('\n').map((line, i) => ({ text: line, line: first + i }))
}
