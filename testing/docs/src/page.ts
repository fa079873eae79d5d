import type { Code, Html, Nodes } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { tableSource } from './option-table.js'

/** A line of code, and the line of the page on which it stands. */
export interface SourceLine {
  readonly text: string
  readonly line: number
}

/** What a program is said to print. `roughly`: numbers aside, and not every line each time. */
export interface Output {
  readonly text: string
  readonly roughly: boolean
}

/** A block of TypeScript, with all that it stands on. */
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
  /** Programs that compile if a table of options is whole. */
  readonly tables: readonly Example[]
  readonly others: readonly OtherBlock[]
}

/** What a comment `<!-- example … -->` says of the block that follows. */
interface Note {
  readonly words: string
  readonly body: readonly SourceLine[]
}

const NOTE = /<!-- example ([^\n]+?)(?: -->|\n([\s\S]*?)-->)/g
const ARROW = /\/\/ → (.*)$/

/**
 * The code blocks of a page. Comments before a block, invisible to readers, say what it stands on:
 * `<!-- example given` with declarations of what the page leaves out, up to `-->`;
 * `<!-- example continues -->`, if it goes on from the block before; before a block of text,
 * `<!-- example prints -->` or `<!-- example prints roughly -->`, if that is what the program above it prints.
 * A program whose lines have comments `// → …` prints these, in order.
 *
 * Before a table of options, `<!-- example options core.FairOptions -->`: it has all options of that type, and no others.
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

/** Blocks with no other blocks inside, in the order of the page. */
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
