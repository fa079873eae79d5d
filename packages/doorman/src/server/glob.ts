import { show } from '@fairlead/core/internal'

const SPECIAL = '*?[\\'

/** True if a name matches. */
export type Matches = (name: string) => boolean

/** Any run of characters; otherwise one character, or a test for one. */
const RUN = null
type GlobPart = typeof RUN | string | ((character: string) => boolean)

const notSlash = (character: string): boolean => character !== '/'

/**
 * Makes a matcher of a glob: `*` is any run of characters and `?` any one, neither of them `/`; `[a-c]` is a character
 * of a class, `[^a-c]` one outside of it; `\` escapes the next character. The same rules as Go's `filepath.Match`.
 *
 * The text between two stars is searched from the left, once, so a match costs at most name × glob steps, and hardly
 * more than the name's length if it fails early. Throws a `TypeError` if a class or an escape is incomplete.
 */
export function compileGlob(glob: string): Matches {
  if (typeof glob !== 'string') throw new TypeError(`a pattern must be a text, got ${show(glob)}`)
  const parts: GlobPart[] = []
  const rest = [...glob]
  for (let at = 0; at < rest.length; ) {
    const character = rest[at++]!
    if (character === '*') {
      if (parts.at(-1) !== RUN) parts.push(RUN)
    } else if (character === '?') parts.push(notSlash)
    else if (character === '[') at = readClass(glob, rest, at, parts)
    else parts.push(character === '\\' ? read(glob, rest, at++) : character)
  }
  const prefix = literalPrefix(rest)
  return (name) => name.startsWith(prefix) && matches(parts, [...name])
}

/** The literal text before the first special character. Among many globs most names differ there. */
function literalPrefix(glob: readonly string[]): string {
  const end = glob.findIndex((character) => SPECIAL.includes(character))
  return glob.slice(0, end < 0 ? glob.length : end).join('')
}

function matches(parts: readonly GlobPart[], name: readonly string[]): boolean {
  let part = 0
  let at = 0
  /** The last star, and the position in the name after the run it matches; only this one has to be retried. */
  let star = -1
  let behind = 0
  for (;;) {
    const next = parts[part]
    if (next === RUN) {
      star = part++
      behind = at
    } else if (next === undefined && at === name.length) return true
    else if (next !== undefined && at < name.length && fits(next, name[at]!)) {
      part++
      at++
    } else {
      if (star < 0 || behind >= name.length || name[behind] === '/') return false
      part = star + 1
      at = ++behind
    }
  }
}

/** Parses a class whose `[` was before `at`, and returns its end. */
function readClass(glob: string, rest: readonly string[], at: number, parts: GlobPart[]): number {
  const negated = rest[at] === '^'
  if (negated) at++
  const ranges: (readonly [string, string])[] = []
  const bound = (): string => {
    const character = rest[at]
    if (character === '-' || character === ']') throw malformed(glob)
    if (character === '\\') at++
    return read(glob, rest, at++)
  }
  do {
    const from = bound()
    if (rest[at] === '-') {
      at++
      ranges.push([from, bound()])
    } else ranges.push([from, from])
  } while (rest[at] !== ']')
  parts.push((character) => {
    const code = character.codePointAt(0)!
    return ranges.some(([from, to]) => from.codePointAt(0)! <= code && code <= to.codePointAt(0)!) !== negated
  })
  return at + 1
}

function read(glob: string, rest: readonly string[], at: number): string {
  const character = rest[at]
  if (character === undefined) throw malformed(glob)
  return character
}

function fits(part: string | ((character: string) => boolean), character: string): boolean {
  return typeof part === 'string' ? part === character : part(character)
}

function malformed(glob: string): TypeError {
  return new TypeError(`syntax error in pattern ${show(glob)}`)
}
