import { show } from '../../options.js'

/** Says whether a name matches. */
export type Matches = (name: string) => boolean

/**
 * Makes a matcher of a glob: `*` is any run of characters and `?` any one, neither of them `/`; `[a-c]` is one of a
 * class, `[^a-c]` one that is not; `\` takes the next character as it is. The same rules as Go's `filepath.Match`.
 *
 * Throws a `TypeError` when a class or an escape is not ended.
 */
export function compileGlob(glob: string): Matches {
  const parts: string[] = []
  const rest = [...glob]
  for (let at = 0; at < rest.length; ) {
    const character = rest[at++]!
    if (character === '*') parts.push('[^/]*')
    else if (character === '?') parts.push('[^/]')
    else if (character === '[') at = readClass(glob, rest, at, parts)
    else if (character === '\\') parts.push(literal(read(glob, rest, at++)))
    else parts.push(literal(character))
  }
  const pattern = new RegExp(`^${parts.join('')}$`, 'su')
  return (name) => pattern.test(name)
}

/** Reads a class whose `[` was before `at`, and says where it ended. */
function readClass(glob: string, rest: readonly string[], at: number, parts: string[]): number {
  const negated = rest[at] === '^'
  if (negated) at++
  const ranges: string[] = []
  const bound = (): string => {
    const character = rest[at]
    if (character === '-' || character === ']') throw malformed(glob)
    if (character === '\\') at++
    return read(glob, rest, at++)
  }
  do {
    const from = bound()
    if (rest[at] !== '-') {
      ranges.push(literal(from))
      continue
    }
    at++
    const to = bound()
    // An empty range matches nothing.
    if (from <= to) ranges.push(`${literal(from)}-${literal(to)}`)
  } while (rest[at] !== ']')
  if (ranges.length > 0) parts.push(`[${negated ? '^' : ''}${ranges.join('')}]`)
  else parts.push(negated ? '.' : '(?!)')
  return at + 1
}

function read(glob: string, rest: readonly string[], at: number): string {
  const character = rest[at]
  if (character === undefined) throw malformed(glob)
  return character
}

function literal(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

function malformed(glob: string): TypeError {
  return new TypeError(`syntax error in pattern ${show(glob)}`)
}
