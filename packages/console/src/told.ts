/** Bounds on the texts and lists of stages in a frame: a user's stage may return anything. */
export const LONGEST_WORD = 64
export const LONGEST_NAME = 256

/** Most values of a detail, and most units of all its texts and keys together. */
const VALUES = 64
const UNITS = 1_000
const DEEPEST = 4

/**
 * The fields of a refusal's detail and of an explanation that the page reads. If names of flows are hashed, a frame has
 * no others: a user's stage may have names in keys and texts.
 */
const READ: ReadonlySet<string> = new Set(
  `fair queue overrides credit engaged fairRatePerSecond newcomer waitMs waiting running share weight kind factor
   costPerSecond leftMs load probability limit expectedMs waitedMs width maximum capacity resetAfterMs`.split(/\s+/),
)
/** The texts among them that come from our own stages. */
const KINDS: ReadonlySet<unknown> = new Set(['block', 'hold', 'boost'])

type Tellable = Readonly<Record<string, unknown>>

/** A text, cut to the bound. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/**
 * A bounded part of a stage's object, as JSON. Values that JSON cannot represent are left out, and the whole object if
 * it throws.
 */
export function tellable(given: unknown, isHashed: boolean): Tellable {
  let values = VALUES
  let units = UNITS
  const isTold = (text: string): boolean => {
    units -= text.length
    return units >= 0
  }
  const partOf = (value: unknown, depth: number): unknown => {
    if (values-- <= 0) return undefined
    if (typeof value === 'string') {
      if (isHashed) return KINDS.has(value) ? value : ''
      const text = cut(value, LONGEST_NAME)
      return isTold(text) ? text : undefined
    }
    if (typeof value === 'number') return Number.isFinite(value) ? value : null
    if (typeof value === 'boolean' || value === null) return value
    if (typeof value !== 'object' || depth >= DEEPEST) return undefined
    if (Array.isArray(value)) return value.slice(0, VALUES).map((each) => partOf(each, depth + 1) ?? null)
    const told: Record<string, unknown> = {}
    for (const key in value) {
      if (values <= 0) break
      if (!Object.hasOwn(value, key) || (isHashed ? !READ.has(key) : !isTold(key))) continue
      const one = partOf((value as Tellable)[key], depth + 1)
      if (one !== undefined) Object.defineProperty(told, key, { value: one, enumerable: true })
    }
    return told
  }
  try {
    const told = partOf(given, 0)
    return typeof told === 'object' && told !== null && !Array.isArray(told) ? (told as Tellable) : {}
  } catch {
    return {}
  }
}

const OTHERS = 'others'

/** Counts by word, for words that users may invent: all words after the first 256 count as `others`. */
export class WordCounts {
  readonly #counts = new Map<string, number>()
  #others = 0

  add(word: string): void {
    const known = this.#counts.get(word)
    if (known === undefined && this.#counts.size >= 256) this.#others++
    else this.#counts.set(word, (known ?? 0) + 1)
  }

  /** The `most` words with the largest counts, and all `others` together. */
  top(most: number): Record<string, number> {
    const sorted = [...this.#counts].sort((a, b) => b[1] - a[1])
    const rest = sorted.slice(most).reduce((sum, [, count]) => sum + count, this.#others)
    const top = sorted.slice(0, most)
    return Object.fromEntries(rest > 0 ? [...top, [OTHERS, rest]] : top)
  }
}
